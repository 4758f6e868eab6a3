import { printable } from '../output/output.ts';

/** Most lines that a difference shows. */
const LINES_SHOWN_MAX = 20;
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
/** As it stands between single quotes. */
const PLAIN = /^[^'\\\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]*$/u;

/**
 * The TypeScript module that knows these services: a map of their names, their union as a type, and the augmentation of
 * `@spock/client` by which another name does not compile. The same names give the same text, whatever their order.
 * `origin` says in the first line where they are from.
 */
export function serviceMapModule(names: readonly string[], origin: string): string {
	const members = [...new Set(names)].sort().map((name) => `\t${key(name)}: ${text(name)},`);
	return `// Made by \`sidecar typegen\` from ${origin.replaceAll(/\s+/g, ' ')}. Do not edit it: make it again.

/** Every service that there is, by its name. */
export const services = {
${members.join('\n')}
} as const;

/** The name of a service that there is. */
export type ServiceName = (typeof services)[keyof typeof services];

declare module '@spock/client' {
	// From here on a Diplomat that is asked for any other name does not compile.
	interface KnownServices extends Record<ServiceName, true> {}
}
`;
}

/**
 * What is to change in a file that holds `before` until it holds `after`: lines with `-` go, lines with `+` come. Undefined
 * if there is nothing to change; how the file ends its lines does not count.
 */
export function differenceOf(before: string, after: string): string | undefined {
	const old = before.replaceAll('\r\n', '\n');
	if (old === after) return undefined;
	const [gone, come] = [linesOnlyIn(old, after), linesOnlyIn(after, old)];
	const changes = [...gone.map((line) => `- ${line}`), ...come.map((line) => `+ ${line}`)];
	if (changes.length === 0) return 'the same lines, in another order or number';
	const more = changes.length - LINES_SHOWN_MAX;
	return [...changes.slice(0, LINES_SHOWN_MAX), ...(more > 0 ? [`… and ${more} more lines`] : [])].join('\n');
}

function linesOnlyIn(one: string, other: string): string[] {
	const known = new Set(other.split('\n'));
	return one.split('\n').filter((line) => !known.has(line));
}

function key(name: string): string {
	// As a plain member it would set the prototype.
	if (name === '__proto__') return "['__proto__']";
	return IDENTIFIER.test(name) ? name : text(name);
}

function text(name: string): string {
	return PLAIN.test(name) ? `'${name}'` : printable(JSON.stringify(name));
}
