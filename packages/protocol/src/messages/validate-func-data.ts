import { badMember, badValue } from '../errors/spock-error.ts';
import {
	validateCloseConsumer,
	validateDeleteGroup,
	validateOpenConsumer,
	validateOpenProducer,
	validatePublish,
	validateRewindGroup,
} from '../events/validate-event.ts';
import { FRAME_BYTES_MAX_FLOOR, NAME_LENGTH_MAX, TIMEOUT_MS_MAX } from '../foundation/limits.ts';
import { isInteger, isText } from '../foundation/values.ts';
import type { KeyQuery } from '../model/key-model.ts';
import { checkName, checkQuery } from '../model/query.ts';
import type { FuncData, FuncName } from './func-map.ts';
import {
	badText,
	expectObject,
	validateDeregistration,
	validateRegistration,
	validateReport,
} from './validate-registration.ts';

/** More features than a client will ever have, and longer than any is named: what is over is unknown here. */
const FEATURES_MAX = 64;
const FEATURE_LENGTH_MAX = 64;

type Members = Readonly<Record<string, unknown>>;

/** What is shorter could be guessed. */
const SECRET_LENGTH_MIN = 16;

const VALIDATORS: { readonly [F in FuncName]: (data: unknown) => FuncData<F> } = {
	hello: validateHello,
	ping: (data) => data,
	getService: (data) => {
		const members = expectObject(data, '');
		const key = optionalText(members, 'key');
		return { ...checkQuery(members), ...(key === undefined ? {} : { key }), ...maxAgeFrom(members) };
	},
	getInstances: (data) => {
		const members = expectObject(data, '');
		return { ...checkQuery(members), ...maxAgeFrom(members) };
	},
	listServices: (data) => {
		// Absent data is null on the wire: "all services here" needs no members.
		const datacenter = data === null ? undefined : optionalName(expectObject(data, ''), 'datacenter');
		return datacenter === undefined ? {} : { datacenter };
	},
	watchService: validateQuery,
	unwatchService: validateQuery,
	registerService: validateRegistration,
	reportService: validateReport,
	deregisterService: validateDeregistration,
	getKey: (data) => {
		const members = expectObject(data, '');
		return { ...keyQueryFrom(members), ...maxAgeFrom(members) };
	},
	watchKey: validateKeyQuery,
	unwatchKey: validateKeyQuery,
	openProducer: validateOpenProducer,
	publish: validatePublish,
	openConsumer: validateOpenConsumer,
	closeConsumer: validateCloseConsumer,
	rewindGroup: validateRewindGroup,
	deleteGroup: validateDeleteGroup,
	// It takes nothing, and ignores what it is given.
	status: () => null,
	explain: validateQuery,
};

/**
 * The data of a request, checked and with unknown members left out.
 * Throws BAD_REQUEST, whose `details.path` names the member that is wrong ("" for the data itself).
 */
export function validateFuncData<F extends FuncName>(func: F, data: unknown): FuncData<F> {
	return VALIDATORS[func](data);
}

/** Checks a query; throws BAD_REQUEST, whose `details.path` names the wrong member. */
export function validateQuery(data: unknown): FuncData<'watchService'> {
	return checkQuery(expectObject(data, ''));
}

/** Checks a query of keys; throws BAD_REQUEST, whose `details.path` names the wrong member. */
export function validateKeyQuery(data: unknown): KeyQuery {
	return keyQueryFrom(expectObject(data, ''));
}

function keyQueryFrom(members: Members): KeyQuery {
	const { key, prefix } = members;
	// Not a name: stores have keys of any characters.
	if (!isText(key)) throw badValue('key', `must be a string of 1 to ${NAME_LENGTH_MAX} characters`, key);
	const isPrefix = prefix === undefined || prefix === null ? false : prefix;
	if (typeof isPrefix !== 'boolean') throw badValue('prefix', 'must be true or false', isPrefix);
	const datacenter = optionalName(members, 'datacenter');
	return { key, ...(isPrefix && { prefix: true }), ...(datacenter === undefined ? {} : { datacenter }) };
}

function maxAgeFrom({ maxAgeMs }: Members): { maxAgeMs?: number } {
	if (maxAgeMs === undefined || maxAgeMs === null) return {};
	if (!isInteger(maxAgeMs, 0, TIMEOUT_MS_MAX))
		throw badValue('maxAgeMs', `must be an integer from 0 to ${TIMEOUT_MS_MAX}`, maxAgeMs);
	return { maxAgeMs };
}

/** What is kept for as long as a connection: a frame may have a hundred thousand. */
function knownLength(features: readonly string[]): string[] {
	return features.slice(0, FEATURES_MAX).filter(({ length }) => length <= FEATURE_LENGTH_MAX);
}

function validateHello(data: unknown): FuncData<'hello'> {
	const members = expectObject(data, '');
	const { versions, pid, features } = members;
	if (!Array.isArray(versions) || !versions.every((version) => Number.isInteger(version))) {
		throw badMember('versions', 'must be an array of integers');
	}
	if (pid !== undefined && pid !== null && !Number.isInteger(pid)) throw badValue('pid', 'must be an integer', pid);
	if (features !== undefined && features !== null) {
		if (!Array.isArray(features) || !features.every((feature) => typeof feature === 'string')) {
			throw badMember('features', 'must be an array of strings');
		}
	}
	const { frameBytesMax } = members;
	if (frameBytesMax !== undefined && frameBytesMax !== null) {
		if (!isInteger(frameBytesMax, FRAME_BYTES_MAX_FLOOR)) {
			throw badValue('frameBytesMax', `must be an integer from ${FRAME_BYTES_MAX_FLOOR}`, frameBytesMax);
		}
	}
	const client = optionalText(members, 'client');
	const library = optionalText(members, 'library');
	// Checked and left out: it was compared before, and must not be kept. The message shows no value, as of the secret.
	optionalText(members, 'token');
	const secret = optionalText(members, 'secret');
	if (secret !== undefined && secret.length < SECRET_LENGTH_MIN) {
		throw badMember('secret', `must be a string of ${SECRET_LENGTH_MIN} to ${NAME_LENGTH_MAX} characters`);
	}
	const { heartbeatMs } = members;
	if (heartbeatMs !== undefined && heartbeatMs !== null && !isInteger(heartbeatMs, 1, TIMEOUT_MS_MAX)) {
		throw badValue('heartbeatMs', `must be an integer from 1 to ${TIMEOUT_MS_MAX}`, heartbeatMs);
	}
	const sidecar = optionalText(members, 'sidecar');
	return {
		versions: versions as number[],
		...(client === undefined ? {} : { client }),
		...(library === undefined ? {} : { library }),
		...(typeof pid === 'number' ? { pid } : {}),
		...(Array.isArray(features) ? { features: knownLength(features as string[]) } : {}),
		...(typeof frameBytesMax === 'number' ? { frameBytesMax } : {}),
		...(secret === undefined ? {} : { secret }),
		...(typeof heartbeatMs === 'number' ? { heartbeatMs } : {}),
		...(sidecar === undefined ? {} : { sidecar }),
	};
}

function optionalName(members: Members, name: string): string | undefined {
	const value = members[name];
	if (value === undefined || value === null) return undefined;
	return checkName(value, name);
}

function optionalText(members: Members, name: string): string | undefined {
	const value = members[name];
	if (value === undefined || value === null) return undefined;
	if (!isText(value)) throw badText(name, NAME_LENGTH_MAX);
	return value;
}
