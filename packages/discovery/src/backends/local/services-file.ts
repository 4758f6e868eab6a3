import { LineCounter, parseDocument } from 'yaml';

import { jsonFault } from './json-fault.ts';
import {
	type LocalContent,
	type LocalServices,
	type ServicesFileContent,
	ServicesFileReader,
} from './services-file-reader.ts';

/** A services file that cannot be served. The message starts with file, line and column. */
export class ServicesFileError extends Error {
	readonly file: string;
	/** From 1. */
	readonly line: number;
	readonly column: number;
	readonly reason: string;

	constructor(file: string, line: number, column: number, reason: string) {
		super(`${file}:${line}:${column}: ${reason}`);
		this.name = 'ServicesFileError';
		this.file = file;
		this.line = line;
		this.column = column;
		this.reason = reason;
	}
}

/** Aliases may multiply a small file into a huge one. */
const ALIASES_MAX = 100;

/** The services of a services file; throws a ServicesFileError if it is bad. */
export function parseServicesFile(text: string, file: string): LocalServices {
	return parseLocalFile(text, file).services;
}

/**
 * Reads a services file in JSON or YAML, of which JSON is a part; one that is called `.json` is JSON and nothing else. Pure. Throws a
 * {@link ServicesFileError} that names the first thing that is wrong; nothing of a bad file is ever served.
 */
export function parseLocalFile(text: string, file: string): LocalContent {
	const content = text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
	return parseGoodJson(content) ?? parseWithPlaces(content, file);
}

/** Thrown and caught within this file: the text needs the reader that knows where everything stands. */
class NotGoodJson extends Error {}

/**
 * A file of JSON with nothing wrong in it, which is what generated files are: undefined for any other. A document tree
 * with the place of everything takes 10 KB for each instance; a registry of 100,000 would need a gigabyte for it.
 */
function parseGoodJson(text: string): LocalContent | undefined {
	try {
		const value: unknown = JSON.parse(text);
		// JSON.parse lets the last of two equal members win in silence.
		if (countWrittenMembers(text) !== countMembers(value)) return undefined;
		const reader = new ServicesFileReader(() => {
			throw new NotGoodJson();
		});
		return reader.content(value, null);
	} catch (error) {
		if (error instanceof NotGoodJson || error instanceof SyntaxError) return undefined;
		throw error;
	}
}

/** Members in the text of a JSON value: the colons outside of strings. */
function countWrittenMembers(text: string): number {
	let count = 0;
	for (let index = 0; index < text.length; index++) {
		const code = text.charCodeAt(index);
		if (code === COLON) count++;
		else if (code === QUOTE) {
			index++;
			while (text.charCodeAt(index) !== QUOTE) index += text.charCodeAt(index) === BACKSLASH ? 2 : 1;
		}
	}
	return count;
}

function countMembers(value: unknown): number {
	if (typeof value !== 'object' || value === null) return 0;
	if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + countMembers(item), 0);
	const values = Object.values(value);
	return values.reduce<number>((sum, item) => sum + countMembers(item), values.length);
}

/** Some editors begin a file with it. */
const BYTE_ORDER_MARK = '\ufeff';
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;

/** Any file, with the place of everything in it. */
function parseWithPlaces(text: string, file: string): LocalContent {
	const lines = new LineCounter();
	const fault = /\.json$/i.test(file) ? jsonFault(text) : undefined;
	const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true });
	const failAt = (offset: number, reason: string): never => {
		const { line, col } = lines.linePos(Math.min(offset, text.length));
		throw new ServicesFileError(file, Math.max(1, line), Math.max(1, col), reason);
	};
	if (fault !== undefined) failAt(fault.offset, `invalid JSON: ${fault.reason}`);
	const [syntax] = document.errors;
	if (syntax !== undefined) failAt(syntax.pos[0], syntax.message.split('\n')[0] as string);
	const reader = new ServicesFileReader(failAt);
	let value: unknown;
	try {
		value = document.toJS({ maxAliasCount: ALIASES_MAX });
	} catch (error) {
		failAt(0, (error as Error).message);
	}
	return reader.content(value, document.contents);
}

/** Services and keys that are given and not read. Throws a TypeError that names the first thing that is wrong. */
export function readLocalContent(content: ServicesFileContent): LocalContent {
	const reader = new ServicesFileReader((_offset, reason) => {
		throw new TypeError(reason);
	});
	return reader.content(content, null);
}
