import { type EventData, SpockError } from '@spock/protocol';
import { isError } from '@spock/protocol/internal';

/** A validator in the form of https://standardschema.dev, as Zod, Valibot and ArkType make them. It must answer at once. */
export interface EventSchema<T = unknown> {
	readonly '~standard': {
		readonly validate: (
			value: unknown,
		) =>
			| { readonly value: T; readonly issues?: undefined }
			| { readonly issues: readonly { readonly message: string }[] }
			| Promise<unknown>;
	};
}

/** For each version of a payload, by its number, what makes the next version of it. */
export type EventUpgrades = Readonly<Record<number, (old: never) => unknown>>;

/** What payloads look like, by stream. */
export interface EventShapes {
	/** What a payload must be, in its newest version. */
	readonly schemas?: Readonly<Record<string, EventSchema>>;
	/** How a payload of an older version becomes one of the next. */
	readonly upgrade?: Readonly<Record<string, EventUpgrades>>;
}

/** A payload as a consumer gets it. */
export interface EventPayload {
	/** Of the payload's shape, after the upgrades. */
	readonly version: number;
	readonly data: unknown;
}

/**
 * The payload of an event: bytes for one in base64, else its JSON value; upgraded from version to version as far as there are upgrades;
 * checked by the schema of its stream, whose value it then is. Throws BAD_VALUE for one that can never be handled.
 */
export function readPayload({ stream, version = 1, encoding, payload }: EventData, shapes: EventShapes): EventPayload {
	const data = encoding === 'base64' ? Buffer.from(payload as string, 'base64') : payload;
	const upgrades = own(shapes.upgrade, stream);
	const schema = own(shapes.schemas, stream);
	if (upgrades === undefined && schema === undefined) return { version, data };
	const upgraded = upgrade(stream, { version, data }, upgrades ?? {});
	return schema === undefined ? upgraded : { ...upgraded, data: checkPayload(stream, schema, upgraded.data) };
}

/** The payload as the schema gives it. Throws BAD_VALUE with the issues, and a TypeError for a schema that does not answer at once. */
export function checkPayload(stream: string, schema: EventSchema, data: unknown): unknown {
	const result = validated(stream, schema, data);
	if (result instanceof Promise) {
		throw new TypeError(`the schema of ${stream} returned a promise; it must validate synchronously`);
	}
	if (result.issues === undefined) return result.value;
	const issues = result.issues.map(({ message }) => message);
	throw new SpockError('BAD_VALUE', `the payload is not what the schema of ${stream} accepts: ${issues.join('; ')}`, {
		details: { stream, issues },
	});
}

function validated(
	stream: string,
	schema: EventSchema,
	data: unknown,
): ReturnType<EventSchema['~standard']['validate']> {
	try {
		return schema['~standard'].validate(data);
	} catch (cause) {
		throw badValue(stream, `the schema of ${stream} failed`, cause);
	}
}

function upgrade(stream: string, payload: EventPayload, upgrades: EventUpgrades): EventPayload {
	let { version, data } = payload;
	for (let next = own(upgrades, version); next !== undefined; next = own(upgrades, version)) {
		try {
			data = next(data as never);
		} catch (cause) {
			throw badValue(stream, `the upgrade of ${stream} from version ${version} failed`, cause);
		}
		version++;
	}
	return { version, data };
}

function badValue(stream: string, what: string, cause: unknown): SpockError {
	const reason = isError(cause) ? cause.message : String(cause);
	return new SpockError('BAD_VALUE', `${what}: ${reason}`, { details: { stream }, cause });
}

/** A stream may be called `constructor`. */
function own<T>(members: Readonly<Record<string | number, T>> | undefined, name: string | number): T | undefined {
	return members !== undefined && Object.hasOwn(members, name) ? members[name] : undefined;
}
