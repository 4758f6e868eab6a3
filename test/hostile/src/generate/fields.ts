import { hostileHost, hostileMeta, hostileName, hostilePort, hostileTags } from '@spock/testkit/hostile';

import type { SeededRandom } from '../random.ts';
import { numberText, valueText } from './json-text.ts';

// What the frames of both sides are made of: members, as text, of which some are spoilt.

/** Members of a frame or of its data: name and JSON text. In order, and a name may come twice. */
export type Fields = readonly (readonly [name: string, text: string])[];
export type Template = (random: SeededRandom) => Fields;

export const services: readonly string[] = ['"barista"', '"waiter"', '"nobody"'];
export const quote = (text: string): string => JSON.stringify(text);
/** The text, or one time in 12 one of the hostile alphabet, or one that is as long as a limit of some name, or a character more. */
export const nameOr = (random: SeededRandom, text: string): string => {
	if (!random.oneIn(12)) return text;
	if (random.oneIn(2)) return quote(hostileName(random.unit));
	return quote(random.pick(['s', '€']).repeat(random.pick([64, 128, 256, 512, 512, 1024]) + random.below(2)));
};

/** What may stand in an instance, as a registry may have it. */
const HOSTILE: Readonly<Record<string, (draw: () => number) => unknown>> = {
	instance: hostileName,
	host: hostileHost,
	port: hostilePort,
	tags: hostileTags,
	meta: hostileMeta,
	zone: hostileName,
};

/** One time in 8 one of the members that come from the outside world says something hostile. */
export function hostileMember(random: SeededRandom, fields: Fields): Fields {
	if (!random.oneIn(8)) return fields;
	const name = random.pick(Object.keys(HOSTILE));
	const text = JSON.stringify(HOSTILE[name]?.(random.unit));
	return fields.map((field) => (field[0] === name ? ([name, text] as const) : field));
}

export function objectText(fields: Fields): string {
	return `{${fields.map(([name, text]) => `${quote(name)}:${text}`).join(',')}}`;
}

/** Some of the optional members. */
export function some(random: SeededRandom, fields: Fields): Fields {
	return fields.filter(() => random.oneIn(3));
}

/** Structural mutations: a member goes, comes twice, moves, or says something else. */
export function spoil(random: SeededRandom, fields: Fields): Fields {
	if (!random.oneIn(4) || fields.length === 0) return fields;
	const spoilt = [...fields];
	const at = random.below(spoilt.length);
	const [name] = spoilt[at] as Fields[number];
	const kind = random.below(6);
	if (kind === 0) spoilt.splice(at, 1);
	else if (kind === 1) spoilt.push([name, valueText(random)]);
	else if (kind === 2) spoilt.reverse();
	else if (kind === 3)
		spoilt.push([random.pick(['__proto__', 'constructor', 'toString', 'then', 'x']), valueText(random)]);
	else spoilt[at] = [name, random.oneIn(2) ? valueText(random) : random.pick(['null', '""', '{}', '[]', '0', '-1'])];
	return spoilt;
}

export function idText(random: SeededRandom): string {
	if (random.oneIn(12)) return valueText(random, 4);
	return random.oneIn(8) ? numberText(random) : String(random.between(0, 24));
}

export function dataText(random: SeededRandom, template: Template | undefined): string {
	if (template === undefined || random.oneIn(24)) return valueText(random);
	return objectText(spoil(random, template(random)));
}
