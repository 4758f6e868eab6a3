import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, relative } from 'node:path';

import { parseServicesFile, ServicesFileError } from '@spock/discovery';

import type { ClientFlags } from '../client/sidecar-target.ts';
import { withClient } from '../client/with-client.ts';
import { commandLine } from '../output/command-name.ts';
import { formatDuration } from '../output/figures.ts';
import { CommandError, EXIT, print, printable } from '../output/output.ts';

/** Flags of `sidecar typegen`. */
export interface TypegenFlags extends ClientFlags {
	readonly services?: string;
	readonly out?: string;
	readonly check?: boolean;
}

/**
 * `sidecar typegen`: writes a TypeScript module that knows the services of a services file, or of the running sidecar. With
 * `--check` it writes nothing, and ends with 1 and the difference if the module is not what it would write.
 */
export async function typegen(flags: TypegenFlags): Promise<void> {
	const { services, out, check } = flags;
	if (services !== undefined && (flags.socket !== undefined || flags.connect !== undefined)) {
		throw usage('give either --services or the address of a sidecar');
	}
	if (check && out === undefined) throw usage('--check needs --out FILE: the file to check');
	const names = services === undefined ? await namesOfSidecar(flags) : namesIn(services);
	const from = services ?? 'the running sidecar';
	if (names.length === 0) {
		throw usage(`${from} has no services, and with an empty map every name would compile: add one first`);
	}
	const origin = services === undefined ? 'the running sidecar' : shownPath(services, out);
	const made = serviceMapModule(names, origin);
	if (out === undefined) {
		process.stdout.write(made);
		return;
	}
	const before = readIfThere(out);
	const difference = differenceOf(before ?? '', made);
	if (difference === undefined) print(`${out} is up to date: ${names.length} services`);
	else if (check) throw outdated(flags, out, before === undefined ? undefined : difference);
	else write(out, made, names.length);
}

function namesIn(file: string): string[] {
	let text: string;
	try {
		text = readFileSync(file, 'utf8');
	} catch (cause) {
		throw usage(`the services file ${file} cannot be read: ${(cause as Error).message}`, cause);
	}
	try {
		return [...parseServicesFile(text, file).keys()];
	} catch (error) {
		if (error instanceof ServicesFileError)
			throw usage(`${error.message} (docs/guide/backends.md describes the format)`, error);
		throw error;
	}
}

async function namesOfSidecar(flags: TypegenFlags): Promise<string[]> {
	const { services, source, ageMs } = await withClient(flags, (client, options) =>
		client.request('listServices', {}, options),
	).catch((error: unknown) => {
		if (!(error instanceof CommandError) || error.exitCode !== EXIT.noSidecar) throw error;
		const message = `${error.message}. A services file needs no sidecar: --services FILE`;
		throw new CommandError(error.exitCode, message, { cause: error });
	});
	if (source === 'last-known-good') {
		process.stderr.write(`the registry is unavailable: these are the services of ${formatDuration(ageMs)} ago\n`);
	}
	return services.map(({ name }) => name);
}

/** As seen from the module, so that it is the same from whichever directory it is made. */
function shownPath(file: string, out: string | undefined): string {
	return relative(out === undefined ? '.' : dirname(out), file).replaceAll('\\', '/');
}

function readIfThere(file: string): string | undefined {
	try {
		return readFileSync(file, 'utf8');
	} catch (cause) {
		if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
		throw usage(`the file of --out cannot be read: ${(cause as Error).message}`, cause);
	}
}

function write(file: string, text: string, count: number): void {
	try {
		writeFileSync(file, text);
	} catch (cause) {
		throw usage(`the file of --out cannot be written: ${(cause as Error).message}`, cause);
	}
	print(`${file} is written: ${count} services`);
}

function outdated({ services }: TypegenFlags, out: string, difference: string | undefined): Error {
	const what = difference === undefined ? 'does not exist' : 'is out of date';
	const from = services === undefined ? [] : ['--services', services];
	const how = `generate it with \`${commandLine('typegen', ...from, '--out', out)}\``;
	return new CommandError(EXIT.failure, `${out} ${what}: ${how}${difference === undefined ? '' : `\n${difference}`}`);
}

function usage(message: string, cause?: unknown): CommandError {
	return new CommandError(EXIT.usage, message, { cause });
}

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
