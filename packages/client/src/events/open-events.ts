import { type Push, SpockError } from '@spock/protocol';
import { isInteger, isObject, knownMembers, wrongType } from '@spock/protocol/internal';
import { EXTEND, type Extensible } from '../connection/extension.ts';
import type { Session } from '../connection/session.ts';
import type { Diplomat } from '../diplomat.ts';
import { Consumers } from './consume/consumers.ts';
import { downlinkPort } from './consume/downlink-connection.ts';
import type { EventShapes } from './consume/event-shapes.ts';
import { Events } from './events.ts';
import type { EventSchemas, KnownEvents, StreamUpgrades } from './known-events.ts';
import { Producer } from './produce/producer.ts';
import { PRODUCER_OPTION_NAMES, type ProducerOptions, resolveProducerOptions } from './produce/producer-options.ts';
import { Relays } from './produce/relays.ts';

/** Options of {@link openEvents}. Wrong ones throw at the call, naming the option and its value. */
export interface EventsOptions<Streams extends object = KnownEvents> extends ProducerOptions {
	/** The client whose sidecar takes the events. It is not owned; its `drain` drains the events first, its `close` closes them. */
	readonly diplomat: Diplomat;
	/**
	 * What payloads must be, by stream: schemas as Zod, Valibot or ArkType make them, which answer at once. They check, and what is sent
	 * is the payload as it was given. Default: none.
	 */
	readonly schemas?: EventSchemas<Streams>;
	/**
	 * What makes a payload of the next version of an older one, by stream and version: `{ orders: { 1: (old) => … } }`. Applied before
	 * the schema, to events that are consumed, as far as there are upgrades. Default: none.
	 */
	readonly upgrade?: StreamUpgrades<Streams>;
}

const OPTION_NAMES: readonly string[] = ['diplomat', 'schemas', 'upgrade', ...PRODUCER_OPTION_NAMES];

/**
 * Events through the sidecar of a client, one started with `--events DIR`. Usable at once: what is emitted before the sidecar is
 * there is sent when it comes. Each call makes a producer of its own, with two connections: make one for a process. Throws UNKNOWN_FUNC in
 * direct mode, which has no sidecar; CLOSED for a client that has ended.
 */
export function openEvents<Streams extends object = KnownEvents>(options: EventsOptions<Streams>): Events<Streams> {
	knownMembers('option', options, OPTION_NAMES);
	const { diplomat, schemas = {}, upgrade = {}, ...producer } = options;
	const extensible = diplomat as unknown as Partial<Extensible> | undefined;
	if (typeof extensible?.[EXTEND] !== 'function') {
		throw wrongType('diplomat', 'a client of this version, made by connect or createDiplomat', diplomat);
	}
	if (!isObject(schemas)) throw wrongType('schemas', 'an object', schemas);
	for (const [stream, schema] of Object.entries(schemas as Record<string, unknown>)) checkIsSchema(stream, schema);
	if (!isObject(upgrade)) throw wrongType('upgrade', 'an object', upgrade);
	for (const [stream, upgrades] of Object.entries(upgrade)) checkAreUpgrades(stream, upgrades);
	const resolved = resolveProducerOptions(producer);
	const extension = extensible[EXTEND]((host) => {
		const sending = new Producer(host, resolved);
		const consumers = new Consumers(downlinkPort(host.options), host.options, { schemas, upgrade } as EventShapes);
		const relays = new Relays(extensible as Extensible);
		const events = new Events<Streams>(host, sending, consumers, relays, schemas as EventSchemas<Streams>);
		return {
			events,
			adopted: (session: Session) => sending.adopted(session),
			lost: () => sending.lost(),
			push: (session: Session, push: Push) => sending.push(session, push),
			drain: () => events.drain(),
			close: () => events.close(),
		};
	});
	if (extension !== undefined) return extension.events;
	throw new SpockError('UNKNOWN_FUNC', 'openEvents: not available in direct mode, which has no sidecar');
}

function checkIsSchema(stream: string, schema: unknown): void {
	// Some libraries make schemas that are functions.
	const standard = (schema as { readonly '~standard'?: unknown } | null | undefined)?.['~standard'];
	if (!isObject(standard)) throw wrongType(`schemas.${stream}`, 'a schema in the form of standardschema.dev', schema);
}

function checkAreUpgrades(stream: string, upgrades: unknown): void {
	const isGood =
		isObject(upgrades) &&
		Object.entries(upgrades).every(([version, next]) => isInteger(Number(version), 1) && typeof next === 'function');
	if (!isGood) throw wrongType(`upgrade.${stream}`, 'an object of functions by version, from 1', upgrades);
}
