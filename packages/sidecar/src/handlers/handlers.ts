import type { Registrations } from '@spock/discovery';
import { type HelloReply, type Hop, PROTOCOL_VERSIONS, SpockError, type StatusReply } from '@spock/protocol';
import { type Clock, isObject } from '@spock/protocol/internal';

import { answer, type Handler, type Handlers } from '../connection/answer.ts';
import type { ResolvedLimits } from '../foundation/limits.ts';
import type { SidecarSource } from '../foundation/sidecar-source.ts';
import { SIDECAR_VERSION } from '../foundation/version.ts';
import { eventHandlers } from './events.ts';
import { explainHandler, type Watchers } from './explain.ts';
import {
	type ChooseInstance,
	getInstancesHandler,
	getKeyHandler,
	getServiceHandler,
	listServicesHandler,
	unwatchKeyHandler,
	unwatchServiceHandler,
	watchKeyHandler,
	watchServiceHandler,
} from './lookups.ts';
import { statusHandler } from './status.ts';

/** What the handlers of a sidecar need. */
export interface HandlersContext {
	/** Sent in hello; differs for every sidecar. */
	readonly instance: string;
	/** Sent in hello; undefined: unknown. */
	readonly zone: string | undefined;
	readonly source: SidecarSource;
	readonly registrations: Registrations | undefined;
	readonly limits: ResolvedLimits;
	readonly clock: Clock;
	/** Whether events are taken; told in hello. */
	readonly hasEvents: boolean;
	/** Picks an instance for getService. */
	readonly choose: ChooseInstance;
	readonly status: () => StatusReply;
	readonly connections: Watchers;
	/** How many clients there are, if they are many; sent in hello. */
	readonly crowd: () => Pick<HelloReply, 'clients'>;
	/** The sidecars that this one asks, nearest first. */
	readonly path: () => readonly Hop[];
}

/** A handler for each function that a client may call. */
export function createHandlers(context: HandlersContext): Handlers {
	const { instance, zone, source, registrations, limits, clock, hasEvents, choose, status, connections, crowd, path } =
		context;
	const { frameBytesMax, inFlightMax } = limits;
	return {
		hello: helloHandler(
			{ sidecar: SIDECAR_VERSION, instance, features: hasEvents ? [...FEATURES, ...EVENT_FEATURES] : FEATURES },
			{ limits: { frameBytesMax, inFlightMax }, ...(zone !== undefined && { zone }) },
			path,
			crowd,
			clock,
		),
		ping: pingHandler(clock),
		getService: getServiceHandler(source, choose),
		getInstances: getInstancesHandler(source),
		listServices: listServicesHandler(source),
		watchService: watchServiceHandler,
		unwatchService: unwatchServiceHandler,
		registerService: registerServiceHandler(registrations),
		reportService: reportServiceHandler(registrations),
		deregisterService: deregisterServiceHandler(registrations),
		getKey: getKeyHandler(source),
		watchKey: watchKeyHandler,
		unwatchKey: unwatchKeyHandler,
		...eventHandlers,
		status: statusHandler(status, clock),
		explain: explainHandler(source, connections, clock, path, () => source.status().error),
	};
}

/** Optional parts of the protocol that this sidecar speaks. */
const FEATURES: readonly string[] = Object.freeze(['push', 'goaway', 'window', 'deltas', 'parts', 'lists']);
/** The same of one that takes events. */
const EVENT_FEATURES: readonly string[] = Object.freeze(['events', 'gaps']);

/** Agrees on a version, and answers with this process's name and limits. */
function helloHandler(
	own: Pick<HelloReply, 'sidecar' | 'instance' | 'features'>,
	more: Pick<HelloReply, 'limits' | 'zone'>,
	path: () => readonly Hop[],
	crowd: HandlersContext['crowd'],
	clock: Pick<Clock, 'wallNow'>,
): Handler<'hello'> {
	return (hello, { caller }) => {
		const { versions } = hello;
		const version = PROTOCOL_VERSIONS.find((known) => versions.includes(known));
		if (version === undefined) {
			const message = `this sidecar speaks version ${PROTOCOL_VERSIONS.join(', ')}, the client ${versions.join(', ')}`;
			throw new SpockError('UNSUPPORTED_VERSION', message, { details: { versions: PROTOCOL_VERSIONS } });
		}
		const upstreams = path();
		refuseLoop(hello.sidecar, own.instance, upstreams);
		const packing = caller.greet(hello);
		const features = packing === undefined ? own.features : [...own.features, packing];
		return answer<HelloReply>({
			version,
			...own,
			features,
			...more,
			...crowd(),
			time: clock.wallNow(),
			...(hello.sidecar !== undefined && upstreams.length > 0 && { upstreams }),
		});
	};
}

/** Throws UNAVAILABLE if the sidecar that asks is asked itself: two that ask each other would take each other's word for the registry's. */
function refuseLoop(sidecar: string | undefined, own: string, upstreams: readonly Hop[]): void {
	if (sidecar === undefined) return;
	const place = [own, ...upstreams.map(({ instance }) => instance)].indexOf(sidecar);
	if (place < 0) return;
	const by = upstreams.slice(0, place).map(({ address }) => address);
	const how = place === 0 ? 'it is the same sidecar' : `it asks that one already, at ${by.join(', which asks ')}`;
	throw new SpockError('UNAVAILABLE', `a loop of sidecars: ${how}; one of them must ask a registry`, {
		details: { upstreams: by },
	});
}

/** Echoes the data; a client that asks for the time gets that of this machine's wall clock. */
function pingHandler(clock: Pick<Clock, 'wallNow'>): Handler<'ping'> {
	return (data) => answer(isObject(data) && data['time'] === true ? { ...data, time: clock.wallNow() } : data);
}

/** Registers an instance and keeps it registered: for the calling connection, or if requested for the sidecar. */
function registerServiceHandler(registrations: Registrations | undefined): Handler<'registerService'> {
	return (data, { caller, timeoutMs, signal }) =>
		expectRegistrations(registrations).claim(data, caller, { timeoutMs, signal }).then(answer);
}

/** The app's report of its health. */
function reportServiceHandler(registrations: Registrations | undefined): Handler<'reportService'> {
	return (data, { caller, timeoutMs, signal }) =>
		expectRegistrations(registrations).report(data, caller, { timeoutMs, signal }).then(answer);
}

/** Gives up this client's claims of an instance. If it was the last holder, answers when the registry has confirmed it. */
function deregisterServiceHandler(registrations: Registrations | undefined): Handler<'deregisterService'> {
	return ({ id, app }, { caller, signal }) =>
		expectRegistrations(registrations)
			.withdraw(id, caller, signal, app)
			.then(() => answer(null));
}

function expectRegistrations(registrations: Registrations | undefined): Registrations {
	if (registrations !== undefined) return registrations;
	throw new SpockError('UNKNOWN_FUNC', 'the registry of this sidecar is read-only: instances cannot be registered');
}
