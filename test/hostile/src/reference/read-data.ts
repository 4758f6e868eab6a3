import { isIP } from 'node:net';
import { domainToASCII, domainToUnicode } from 'node:url';

import type { FuncName } from '@spock/protocol';

import { isWhole } from './read-message.ts';

// What each function accepts, written from the tables of docs/PROTOCOL.md ("Functions", "Registration", "Hello") as a
// schema: a list of members, and what each may be. One reader walks it. An optional member that is null is absent.

/** What a value comes to: the paths that are wrong in it (`''` is the value itself), and what is left of it for a handler. */
interface Judged {
	readonly wrong: readonly string[];
	readonly value: unknown;
}
type Rule = (value: unknown) => Judged;
type Members = Readonly<Record<string, { readonly rule: Rule; readonly required?: true }>>;

const WRONG: Judged = { wrong: [''], value: undefined };

const test =
	(accepts: (value: unknown) => boolean): Rule =>
	(value) =>
		accepts(value) ? { wrong: [], value } : WRONG;
const matching = (pattern: RegExp, max: number): Rule =>
	test((value) => typeof value === 'string' && value.length <= max && pattern.test(value));
const whole = (min: number, max: number): Rule => test((value) => isWhole(value, min, max));
const oneOf = (...words: unknown[]): Rule => test((value) => words.includes(value));
const isList = (value: unknown): value is unknown[] => Array.isArray(value);
const isMap = (value: unknown): value is Record<string, unknown> =>
	typeof value === 'object' && value !== null && !isList(value);
const isNothing = (value: unknown): boolean => value === undefined || value === null;

function list(max: number, item: Rule): Rule {
	return (value) => {
		if (!isList(value) || value.length > max) return WRONG;
		return { wrong: value.flatMap((one, index) => under(`[${index}]`, item(one))), value };
	};
}

/** A map with free names: a wrong name is a fault of the map, a wrong value or a reserved name one of the member. */
function map(max: number, isNameOf: (key: string) => boolean, item: Rule, reserved?: RegExp): Rule {
	return (value) => {
		if (!isMap(value) || Object.keys(value).length > max) return WRONG;
		const judged = Object.entries(value).map(([key, one]) => ({ key, ...item(one) }));
		return {
			wrong: judged.flatMap(({ key, ...one }) => {
				if (!isNameOf(key)) return [''];
				return reserved?.test(key) ? [key] : under(key, one);
			}),
			value: Object.fromEntries(judged.map((one) => [one.key, one.value])),
		};
	};
}

/** Named members; unknown ones are left out, and so are optional ones that are null. */
function object(members: Members): Rule {
	return (value) => {
		if (!isMap(value)) return WRONG;
		const judged = Object.entries(members)
			.filter(([name, { required }]) => required || !isNothing(value[name]))
			.map(([name, { rule }]) => ({ name, ...rule(value[name]) }));
		return {
			wrong: judged.flatMap(({ name, ...one }) => under(name, one)),
			value: Object.fromEntries(judged.filter((one) => one.value !== undefined).map((one) => [one.name, one.value])),
		};
	};
}

function under(outer: string, { wrong }: Judged): string[] {
	// An index of a list; a member may be called `[` too.
	return wrong.map((inner) =>
		inner === '' || /^\[\d+\](?:[.[]|$)/.test(inner) ? `${outer}${inner}` : `${outer}.${inner}`,
	);
}

const required = (rule: Rule): { rule: Rule; required: true } => ({ rule, required: true });
const optional = (rule: Rule): { rule: Rule } => ({ rule });
/** Without C0 and C1 control characters, DEL and halves of surrogate pairs. */
/** What has a UTF-8: every half of a pair has its other one. */
const wellFormed = (max: number): Rule =>
	test(
		(value) =>
			typeof value === 'string' && value.length > 0 && value.length <= max && Buffer.from(value).toString() === value,
	);
const isClean = (value: string): boolean =>
	[...value].every((character) => {
		const point = character.codePointAt(0) as number;
		return point >= 0x20 && !(point >= 0x7f && point <= 0x9f) && !(point >= 0xd800 && point <= 0xdfff);
	});
const cleanText = (max: number, min = 1): Rule =>
	test((value) => typeof value === 'string' && value.length >= min && value.length <= max && isClean(value));
const cleanUrl = (pattern: RegExp): Rule =>
	test((value) => typeof value === 'string' && value.length <= 512 && pattern.test(value) && isClean(value));
const anyText = wellFormed(512);
const name = cleanText(512);
const maxAgeMs = optional(whole(0, 2147483647));
const query: Members = {
	service: required(name),
	tags: optional(list(32, name)),
	datacenter: optional(name),
	meta: optional(map(16, (key) => name(key).wrong.length === 0, cleanText(512, 0))),
	peer: optional(name),
};
const keyQuery: Members = {
	key: required(anyText),
	prefix: optional((value) => (value === false ? { wrong: [], value: undefined } : oneOf(true)(value))),
	datacenter: optional(name),
};
const id = matching(/^[A-Za-z0-9_][A-Za-z0-9_.:@~+-]*$/, 256);
const status = oneOf('passing', 'warning', 'critical');
const isWord = (key: string): boolean => /^[A-Za-z0-9_-]{1,128}$/.test(key);
const wholeText = test(
	(value) => typeof value === 'string' && new TextEncoder().encode(value).length <= 512 && !/\p{Cs}/u.test(value),
);
const port = whole(1, 65535);
const host = test((value) => {
	if (typeof value !== 'string' || value.length > 253) return false;
	if (isIP(value) !== 0) return true;
	// What a URL drops or takes for something else than a part of the host.
	if (/[\s/\\?#@<>^|%:[\]"`{}]|[\u0000-\u001f\u007f-\u009f]|\p{Default_Ignorable_Code_Point}/u.test(value))
		return false;
	const isPunycode = (label: string): boolean => {
		const text = domainToUnicode(label);
		return text !== '' && !/^xn--/i.test(text) && domainToASCII(text) === label.toLowerCase();
	};
	if (value.split('.').some((label) => /^xn--/i.test(label) && !isPunycode(label))) return false;
	try {
		return isIP(new URL(`http://${value}/`).hostname) === 0;
	} catch {
		return false;
	}
});
const check: Rule = (value) => {
	const judged = object({
		http: optional(cleanUrl(/^https?:\/\/./)),
		tcp: optional(cleanUrl(/^.+:\d{1,5}$/)),
		intervalMs: optional(whole(1000, 3600000)),
		timeoutMs: optional(whole(100, 600000)),
	})(value);
	const both = isMap(value) && isNothing(value['http']) === isNothing(value['tcp']);
	return both ? { ...judged, wrong: [...judged.wrong, ''] } : judged;
};
const registration: Members = {
	service: required(name),
	port: required(port),
	id: optional(id),
	host: optional(host),
	tags: optional(list(32, name)),
	meta: optional(map(60, isWord, wholeText, /^(?:spock|consul)-/)),
	weights: optional(object({ passing: optional(whole(1, 65535)), warning: optional(whole(0, 65535)) })),
	taggedAddresses: optional(map(16, isWord, object({ host: required(host), port: optional(port) }))),
	check: optional(check),
	bind: optional(oneOf('connection', 'sidecar')),
	status: optional(status),
	note: optional(wellFormed(1024)),
};

const streamName = matching(/^[A-Za-z0-9_.-]+$/, 128);
const position = whole(0, Number.MAX_SAFE_INTEGER);
const stringMap: Rule = (value) => map(32, (key) => wellFormed(512)(key).wrong.length === 0, anyString)(value);
const anyString = test((value) => typeof value === 'string');
const traceparent = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
const eventMembers: Members = {
	stream: required(streamName),
	key: optional(wellFormed(512)),
	id: optional(wellFormed(128)),
	at: optional(position),
	version: optional(whole(1, 1_000_000_000)),
	encoding: optional(oneOf('base64')),
	// A bad one is as if it were not there.
	traceparent: optional((value) => ({
		wrong: [],
		value: typeof value === 'string' && traceparent.test(value) ? value : undefined,
	})),
	headers: optional(stringMap),
	payload: required(test((value) => value !== undefined)),
	until: optional(oneOf('persisted', 'stored')),
};
const publish: Rule = (value) => {
	const judged = object(eventMembers)(value);
	const isNoText = isMap(value) && value['encoding'] === 'base64' && typeof value['payload'] !== 'string';
	return isNoText ? { ...judged, wrong: [...judged.wrong, 'payload'] } : judged;
};
/** A word, or exactly one of a position and a time. */
const from: Rule = (value) => {
	if (value === 'new' || value === 'first') return { wrong: [], value };
	if (!isMap(value) || isNothing(value['position']) === isNothing(value['time'])) return WRONG;
	if (Object.keys(value).some((name) => name !== 'position' && name !== 'time')) return WRONG;
	return object({ position: optional(position), time: optional(position) })(value);
};
const filter = object({
	keys: optional((value) => wholly(list(256, wellFormed(512))(value))),
	headers: optional(stringMap),
});
/** What is wrong in a part is wrong with the whole. */
const wholly = (judged: Judged): Judged => (judged.wrong.length > 0 ? WRONG : judged);

/** Of a filter no member is left out. */
function withoutUnknownConditions(members: Members): Rule {
	return (value) => {
		const judged = object(members)(value);
		const conditions = isMap(value) ? value['filter'] : undefined;
		if (!isMap(conditions)) return judged;
		const unknown = Object.keys(conditions).filter((name) => name !== 'keys' && name !== 'headers');
		return { ...judged, wrong: [...judged.wrong, ...unknown.map((name) => `filter.${name}`)] };
	};
}

const isAnyWhole = (value: unknown): boolean => isWhole(value, -Number.MAX_VALUE, Number.MAX_VALUE);

const accepted: Readonly<Record<FuncName, Rule>> = {
	hello: object({
		versions: required(test((value) => isList(value) && value.every(isAnyWhole))),
		client: optional(anyText),
		library: optional(anyText),
		sidecar: optional(anyText),
		frameBytesMax: optional(whole(1024, Number.MAX_VALUE)),
		// Looked at before a handler is, and kept from it.
		token: optional((value) => ({ ...anyText(value), value: undefined })),
		heartbeatMs: optional(whole(1, 2147483647)),
		secret: optional(test((value) => typeof value === 'string' && value.length >= 16 && value.length <= 512)),
		pid: optional(test(isAnyWhole)),
		features: optional((value) => {
			const read = test((list) => isList(list) && list.every((one) => typeof one === 'string'))(value);
			if (read.wrong.length > 0) return read;
			return { ...read, value: (value as readonly string[]).slice(0, 64).filter(({ length }) => length <= 64) };
		}),
	}),
	ping: test(() => true),
	getService: object({ ...query, key: optional(anyText), maxAgeMs }),
	getInstances: object({ ...query, maxAgeMs }),
	listServices: (data) => (data === null ? { wrong: [], value: {} } : object({ datacenter: optional(name) })(data)),
	watchService: object(query),
	unwatchService: object(query),
	getKey: object({ ...keyQuery, maxAgeMs }),
	watchKey: object(keyQuery),
	unwatchKey: object(keyQuery),
	registerService: object(registration),
	reportService: object({ id: required(id), status: required(status), note: optional(wellFormed(1024)) }),
	deregisterService: object({ id: required(id) }),
	openProducer: object({
		producer: required(streamName),
		epoch: optional(whole(1, 2 ** 47)),
		persisted: optional(whole(0, 2 ** 47)),
		gaps: optional(test((value) => typeof value === 'boolean')),
	}),
	publish,
	openConsumer: withoutUnknownConditions({
		stream: required(streamName),
		group: optional(streamName),
		from: optional(from),
		inFlightMax: optional(whole(1, 4096)),
		ackWaitMs: optional(whole(1, 2147483647)),
		attempts: optional(position),
		order: optional(oneOf('none', 'key', 'stream')),
		filter: optional(filter),
	}),
	closeConsumer: object({
		consumer: required(position),
		handed: optional(
			test(
				(value) =>
					isList(value) && value.length <= 4096 && value.every((one) => isWhole(one, 0, Number.MAX_SAFE_INTEGER)),
			),
		),
	}),
	rewindGroup: object({ stream: required(streamName), group: required(streamName), to: required(from) }),
	deleteGroup: object({ stream: required(streamName), group: required(streamName) }),
	// It takes nothing, and ignores what it is given.
	status: () => ({ wrong: [], value: null }),
	explain: object(query),
};

/** True for a function of the protocol. */
export function isFunc(func: string): boolean {
	return Object.hasOwn(accepted, func);
}

/** What the data of a function comes to. */
export function judgeData(func: string, data: unknown): Judged {
	return accepted[func as FuncName](data);
}
