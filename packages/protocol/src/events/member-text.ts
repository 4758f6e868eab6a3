import { isObject } from '../foundation/values.ts';

/**
 * The text of a member's value, as it stands in the text of a JSON object; of several members with this name that of the last, which
 * is the one that `JSON.parse` keeps. Empty if the object has no such member. The text must be JSON: it is not checked again.
 */
export function memberText(text: string, name: string): string {
	let found = '';
	let depth = 0;
	let key: string | undefined;
	let valueAt = 0;
	const endMember = (end: number): void => {
		if (key === name) found = text.slice(valueAt, end);
		key = undefined;
	};
	for (let index = 0; index < text.length; index++) {
		const code = text.charCodeAt(index);
		if (code === QUOTE) {
			const end = endOfString(text, index);
			// The first string of a member is its name, which may be written with escapes.
			if (depth === 1) key ??= JSON.parse(text.slice(index, end)) as string;
			index = end - 1;
		} else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
			depth++;
		} else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
			if (depth-- === 1) endMember(index);
		} else if (depth === 1 && code === COLON) {
			valueAt = index + 1;
		} else if (depth === 1 && code === COMMA) {
			endMember(index);
		}
	}
	return found;
}

/** Behind the closing quote of the string that begins at `start`. */
function endOfString(text: string, start: number): number {
	for (let index = start + 1; ; index++) {
		const code = text.charCodeAt(index);
		if (code === BACKSLASH) index++;
		else if (code === QUOTE) return index + 1;
	}
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * A payload that is known by its text alone: printed again, a number that no double holds would be another one. It comes from no
 * parser, so nobody can send one.
 */
export class JsonText {
	readonly text: string;

	constructor(text: string) {
		this.text = text;
	}
}

/** The data of a request to publish, with its payload as it stands in the text of the frame. */
export function withPayloadText(data: unknown, frame: string): unknown {
	if (!isObject(data) || data['payload'] === undefined) return data;
	return { ...data, payload: new JsonText(memberText(memberText(frame, 'data'), 'payload')) };
}
