import { type InstanceStatus, NAME_LENGTH_MAX, type ServiceInstance } from '@spock/protocol';
import { isMap, isNode, isSeq, LineCounter, type Node, type ParsedNode, parseDocument } from 'yaml';

import { sortInstances } from '../snapshot-diff.ts';
import { type LocalKeys, type LocalKeysContent, readKeys } from './local-keys.ts';

/** What a services file says: the instances of each service, sorted. */
export type LocalServices = ReadonlyMap<string, readonly ServiceInstance[]>;

/** Everything that a services file says. */
export interface LocalContent {
	readonly services: LocalServices;
	readonly keys: LocalKeys;
}

/** One instance as a services file writes it. */
export interface ServicesFileInstance {
	/** An IP address or a DNS name. */
	readonly host: string;
	readonly port: number;
	/** Unique within the service. Default `host:port`. */
	readonly id?: string;
	/** Default 1. */
	readonly weight?: number;
	/** Default `passing`. */
	readonly status?: InstanceStatus;
	readonly tags?: readonly string[];
	readonly meta?: Readonly<Record<string, string>>;
	readonly zone?: string;
	readonly datacenter?: string;
}

/** A services file. */
export interface ServicesFileContent {
	readonly services: Readonly<Record<string, readonly ServicesFileInstance[]>>;
	/** The key-value store: text as it is, anything else as its JSON. Default: no keys. */
	readonly keys?: LocalKeysContent;
}

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

const STATUSES: readonly InstanceStatus[] = ['passing', 'warning', 'critical', 'maintenance'];
const MEMBERS = ['host', 'port', 'id', 'weight', 'status', 'tags', 'meta', 'zone', 'datacenter'];
/** Aliases may multiply a small file into a huge one. */
const ALIASES_MAX = 100;

/** The services of a services file; throws as {@link parseLocalFile} does. */
export function parseServicesFile(text: string, file: string): LocalServices {
	return parseLocalFile(text, file).services;
}

/**
 * Reads a services file in JSON or YAML, of which JSON is a part. Pure. Throws a {@link ServicesFileError} that names the
 * first thing that is wrong; nothing of a bad file is ever served.
 */
export function parseLocalFile(text: string, file: string): LocalContent {
	return parseGoodJson(text) ?? parseWithPlaces(text, file);
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
		const reader = new Reader(() => {
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

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;

/** Any file, with the place of everything in it. */
function parseWithPlaces(text: string, file: string): LocalContent {
	const lines = new LineCounter();
	const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true });
	const failAt = (offset: number, reason: string): never => {
		const { line, col } = lines.linePos(Math.min(offset, text.length));
		throw new ServicesFileError(file, Math.max(1, line), Math.max(1, col), reason);
	};
	const [syntax] = document.errors;
	if (syntax !== undefined)
		failAt(syntax.pos[0], jsonComplaint(text, file) ?? (syntax.message.split('\n')[0] as string));
	const reader = new Reader(failAt);
	let value: unknown;
	try {
		value = document.toJS({ maxAliasCount: ALIASES_MAX });
	} catch (error) {
		failAt(0, (error as Error).message);
	}
	return reader.content(value, document.contents);
}

/** What is wrong with a file that means to be JSON, in the words of JSON; undefined for any other. */
function jsonComplaint(text: string, file: string): string | undefined {
	if (!/\.json$/i.test(file)) return undefined;
	try {
		JSON.parse(text);
		return undefined;
	} catch (error) {
		return `no JSON: ${(error as Error).message.replace(/\s+/g, ' ')}`;
	}
}

/** Services and keys that are given and not read. Throws a TypeError that names the first thing that is wrong. */
export function readLocalContent(content: ServicesFileContent): LocalContent {
	const reader = new Reader((_offset, reason) => {
		throw new TypeError(reason);
	});
	return reader.content(content, null);
}

type Fail = (offset: number, reason: string) => never;
type Members = Readonly<Record<string, unknown>>;

/** Walks the values, and beside them the nodes that know where each one stands. */
class Reader {
	readonly #fail: Fail;

	constructor(fail: Fail) {
		this.#fail = fail;
	}

	content(value: unknown, node: ParsedNode | null): LocalContent {
		const top = this.#object(value, node, 'the file');
		this.#onlyMembers(top, node, ['services', 'keys', '$schema'], 'the file');
		return { services: this.#services(top, node), keys: this.#keys(top['keys'], child(node, 'keys') ?? node) };
	}

	#keys(value: unknown, node: Node | null | undefined): LocalKeys {
		if (value === undefined || value === null) return new Map();
		return readKeys(this.#object(value, node, 'keys'), (key, reason) =>
			this.#failAt(child(node, key) ?? node, `keys.${key}: ${reason}`),
		);
	}

	#services(top: Members, node: ParsedNode | null): LocalServices {
		const services = this.#object(top['services'], child(node, 'services') ?? node, 'services');
		const servicesNode = child(node, 'services');
		const read = new Map<string, readonly ServiceInstance[]>();
		for (const [name, list] of Object.entries(services)) {
			const listNode = child(servicesNode, name);
			if (name === '' || name.length > NAME_LENGTH_MAX) {
				this.#failAt(listNode, `a service needs a name of 1 to ${NAME_LENGTH_MAX} characters`);
			}
			if (!Array.isArray(list)) this.#failAt(listNode, `services.${name} must be a list of instances`);
			const path = `services.${name}`;
			const instances = (list as unknown[]).map((item, index) =>
				this.#instance(item, child(listNode, index), `${path}[${index}]`),
			);
			const seen = new Set<string>();
			for (const [index, { instance }] of instances.entries()) {
				if (seen.has(instance)) this.#failAt(child(listNode, index), `${path}[${index}] repeats the id ${instance}`);
				seen.add(instance);
			}
			read.set(name, sortInstances(instances));
		}
		return read;
	}

	#instance(value: unknown, node: Node | undefined, path: string): ServiceInstance {
		const members = this.#object(value, node, path);
		this.#onlyMembers(members, node, MEMBERS, path);
		const at = (name: string): Node | undefined => child(node, name) ?? node;
		const { host, port, weight = 1, status = 'passing' } = members;
		if (typeof host !== 'string' || host === '') this.#failAt(at('host'), `${path}.host must be an address or a name`);
		if (!isWholeNumber(port, 1, 65_535)) this.#failAt(at('port'), `${path}.port must be a port from 1 to 65535`);
		if (typeof weight !== 'number' || !(weight >= 0 && weight <= 65_535)) {
			this.#failAt(at('weight'), `${path}.weight must be a number from 0 to 65535`);
		}
		if (!STATUSES.includes(status as InstanceStatus)) {
			this.#failAt(at('status'), `${path}.status must be one of ${STATUSES.join(', ')}`);
		}
		return Object.freeze({
			instance: this.#text(members, 'id', at('id'), path) ?? `${host as string}:${port as number}`,
			host: host as string,
			port: port as number,
			weight: weight as number,
			status: status as InstanceStatus,
			tags: this.#tags(members['tags'], at('tags'), path),
			meta: this.#meta(members['meta'], at('meta'), path),
			zone: this.#text(members, 'zone', at('zone'), path) ?? null,
			datacenter: this.#text(members, 'datacenter', at('datacenter'), path) ?? null,
		});
	}

	#tags(value: unknown, node: Node | undefined, path: string): readonly string[] {
		if (value === undefined || value === null) return Object.freeze([]);
		if (!Array.isArray(value) || !value.every((tag) => typeof tag === 'string' && tag !== '')) {
			this.#failAt(node, `${path}.tags must be a list of words`);
		}
		return Object.freeze([...(value as string[])]);
	}

	#meta(value: unknown, node: Node | undefined, path: string): Readonly<Record<string, string>> {
		if (value === undefined || value === null) return Object.freeze({});
		const members = this.#object(value, node, `${path}.meta`);
		for (const [name, text] of Object.entries(members)) {
			if (typeof text !== 'string') this.#failAt(child(node, name) ?? node, `${path}.meta.${name} must be a text`);
		}
		return Object.freeze({ ...(members as Record<string, string>) });
	}

	#text(members: Members, name: string, node: Node | undefined, path: string): string | undefined {
		const value = members[name];
		if (value === undefined || value === null) return undefined;
		if (typeof value !== 'string' || value === '')
			this.#failAt(node, `${path}.${name} must be a text that is not empty`);
		return value as string;
	}

	#object(value: unknown, node: Node | null | undefined, path: string): Members {
		if (typeof value !== 'object' || value === null || Array.isArray(value)) {
			this.#failAt(node, `${path} must be an object${path === 'the file' ? ' with the member services' : ''}`);
		}
		return value as Members;
	}

	#onlyMembers(members: Members, node: Node | null | undefined, known: readonly string[], path: string): void {
		for (const name of Object.keys(members)) {
			if (known.includes(name)) continue;
			this.#failAt(child(node, name) ?? node, `${path} has an unknown member ${name}; known are ${known.join(', ')}`);
		}
	}

	#failAt(node: Node | null | undefined, reason: string): never {
		return this.#fail(node?.range?.[0] ?? 0, reason);
	}
}

function child(node: Node | null | undefined, key: string | number): Node | undefined {
	if (!isMap(node) && !isSeq(node)) return undefined;
	const found: unknown = node.get(key, true);
	return isNode(found) ? found : undefined;
}

function isWholeNumber(value: unknown, min: number, max: number): value is number {
	return typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max;
}
