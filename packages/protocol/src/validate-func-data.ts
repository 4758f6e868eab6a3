import type { FuncData, FuncName } from './func-map.ts';
import { isInteger } from './is-integer.ts';
import { isObject } from './is-object.ts';
import type { KeyQuery } from './key-model.ts';
import { FRAME_BYTES_MAX_FLOOR, NAME_LENGTH_MAX, QUERY_META_MAX, QUERY_TAGS_MAX, TIMEOUT_MS_MAX } from './limits.ts';
import { SpockError } from './spock-error.ts';
import { validateTakeOver } from './take-over.ts';
import { validateDeregistration, validateRegistration, validateReport } from './validate-registration.ts';

type Members = Readonly<Record<string, unknown>>;

const VALIDATORS: { readonly [F in FuncName]: (data: unknown) => FuncData<F> } = {
	hello: validateHello,
	ping: (data) => data,
	getService: (data) => {
		const members = expectObject(data);
		const key = optionalString(members, 'key');
		return { ...queryFrom(members), ...(key === undefined ? {} : { key }), ...maxAgeFrom(members) };
	},
	getInstances: (data) => {
		const members = expectObject(data);
		return { ...queryFrom(members), ...maxAgeFrom(members) };
	},
	listServices: (data) => {
		// Absent data is null on the wire: "all services here" needs no members.
		const datacenter = data === null ? undefined : optionalString(expectObject(data), 'datacenter');
		return datacenter === undefined ? {} : { datacenter };
	},
	watchService: validateQuery,
	unwatchService: validateQuery,
	registerService: validateRegistration,
	reportService: validateReport,
	deregisterService: validateDeregistration,
	getKey: (data) => {
		const members = expectObject(data);
		return { ...keyQueryFrom(members), ...maxAgeFrom(members) };
	},
	watchKey: validateKeyQuery,
	unwatchKey: validateKeyQuery,
	// It took nothing in earlier versions, and ignored what it was given.
	status: (data) => (isObject(data) && data['view'] === true ? { view: true } : null),
	explain: validateQuery,
	takeOver: validateTakeOver,
};

/**
 * The names of all functions, in the order of the protocol's table. Marked as pure, because a client needs `validateQuery`
 * alone: its bundle then leaves the names and every other validator out.
 */
export const funcNames: readonly FuncName[] = /* @__PURE__ */ Object.freeze(
	/* @__PURE__ */ Object.keys(VALIDATORS) as FuncName[],
);

/**
 * The data of a request, checked and with unknown members left out.
 * Throws BAD_REQUEST, whose `details.path` names the member that is wrong ("" for the data itself).
 */
export function validateFuncData<F extends FuncName>(func: F, data: unknown): FuncData<F> {
	return VALIDATORS[func](data);
}

/** Checks a query; throws BAD_REQUEST, whose `details.path` names the wrong member. */
export function validateQuery(data: unknown): FuncData<'watchService'> {
	return queryFrom(expectObject(data));
}

/** Checks a query of keys; throws BAD_REQUEST, whose `details.path` names the wrong member. */
export function validateKeyQuery(data: unknown): KeyQuery {
	return keyQueryFrom(expectObject(data));
}

function keyQueryFrom(members: Members): KeyQuery {
	const { key, prefix } = members;
	if (!isName(key)) throw badName('key');
	const isPrefix = prefix === undefined || prefix === null ? false : prefix;
	if (typeof isPrefix !== 'boolean') throw bad('prefix', 'must be true or false');
	const datacenter = optionalString(members, 'datacenter');
	return { key, ...(isPrefix && { prefix: true }), ...(datacenter === undefined ? {} : { datacenter }) };
}

function queryFrom(members: Members): FuncData<'watchService'> {
	const { service } = members;
	if (!isName(service)) throw badName('service');
	const datacenter = optionalString(members, 'datacenter');
	const peer = optionalString(members, 'peer');
	const tags = optionalTags(members);
	const meta = optionalMeta(members);
	return {
		service,
		...(tags === undefined ? {} : { tags }),
		...(datacenter === undefined ? {} : { datacenter }),
		...(meta === undefined ? {} : { meta }),
		...(peer === undefined ? {} : { peer }),
	};
}

function optionalTags({ tags }: Members): readonly string[] | undefined {
	if (tags === undefined || tags === null) return undefined;
	if (!Array.isArray(tags) || tags.length > QUERY_TAGS_MAX) {
		throw bad('tags', `must be an array of at most ${QUERY_TAGS_MAX} strings`);
	}
	tags.forEach((tag, index) => {
		if (!isName(tag)) throw badName(`tags[${index}]`);
	});
	return tags as string[];
}

function optionalMeta({ meta }: Members): Readonly<Record<string, string>> | undefined {
	if (meta === undefined || meta === null) return undefined;
	if (!isObject(meta) || Object.keys(meta).length > QUERY_META_MAX) {
		throw bad('meta', `must be an object of at most ${QUERY_META_MAX} strings`);
	}
	for (const [name, value] of Object.entries(meta)) {
		if (!isName(name)) throw bad('meta', `must have names of 1 to ${NAME_LENGTH_MAX} characters`);
		if (typeof value !== 'string' || value.length > NAME_LENGTH_MAX) {
			throw bad(`meta.${name}`, `must be a string of at most ${NAME_LENGTH_MAX} characters`);
		}
	}
	return meta as Record<string, string>;
}

function maxAgeFrom({ maxAgeMs }: Members): { maxAgeMs?: number } {
	if (maxAgeMs === undefined || maxAgeMs === null) return {};
	if (!isInteger(maxAgeMs, 0, TIMEOUT_MS_MAX)) throw bad('maxAgeMs', `must be an integer from 0 to ${TIMEOUT_MS_MAX}`);
	return { maxAgeMs };
}

function validateHello(data: unknown): FuncData<'hello'> {
	const members = expectObject(data);
	const { versions, pid, features } = members;
	if (!Array.isArray(versions) || !versions.every((version) => Number.isInteger(version))) {
		throw bad('versions', 'must be an array of integers');
	}
	if (pid !== undefined && pid !== null && !Number.isInteger(pid)) throw bad('pid', 'must be an integer');
	if (features !== undefined && features !== null) {
		if (!Array.isArray(features) || !features.every((feature) => typeof feature === 'string')) {
			throw bad('features', 'must be an array of strings');
		}
	}
	const { frameBytesMax } = members;
	if (frameBytesMax !== undefined && frameBytesMax !== null) {
		if (!isInteger(frameBytesMax, FRAME_BYTES_MAX_FLOOR)) {
			throw bad('frameBytesMax', `must be an integer from ${FRAME_BYTES_MAX_FLOOR}`);
		}
	}
	const client = optionalString(members, 'client');
	// Checked and left out: by now it has been looked at, and nobody shall keep it.
	optionalString(members, 'token');
	return {
		versions: versions as number[],
		...(client === undefined ? {} : { client }),
		...(typeof pid === 'number' ? { pid } : {}),
		...(Array.isArray(features) ? { features: features as string[] } : {}),
		...(typeof frameBytesMax === 'number' ? { frameBytesMax } : {}),
	};
}

function expectObject(data: unknown): Members {
	if (!isObject(data)) throw bad('', 'must be an object');
	return data;
}

function optionalString(members: Members, name: string): string | undefined {
	const value = members[name];
	if (value === undefined || value === null) return undefined;
	if (!isName(value)) throw badName(name);
	return value;
}

function isName(value: unknown): value is string {
	return typeof value === 'string' && value.length > 0 && value.length <= NAME_LENGTH_MAX;
}

function badName(path: string): SpockError {
	return bad(path, `must be a string of 1 to ${NAME_LENGTH_MAX} characters`);
}

function bad(path: string, sentence: string): SpockError {
	return new SpockError('BAD_REQUEST', `${path === '' ? 'data' : `data.${path}`} ${sentence}`, { details: { path } });
}
