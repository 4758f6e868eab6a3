import type { Registrations } from '@spock/discovery';
import type { StatusReply } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import type { Handlers } from '../connection/answer.ts';
import type { ResolvedLimits } from '../foundation/limits.ts';
import type { SidecarSource } from '../foundation/sidecar-source.ts';
import { SIDECAR_VERSION } from '../foundation/version.ts';
import type { HandOver } from '../take-over/hand-over.ts';
import { explainHandler, type Watchers } from './explain.ts';
import { getKeyHandler, unwatchKeyHandler, watchKeyHandler } from './keys.ts';
import { deregisterServiceHandler, registerServiceHandler, reportServiceHandler } from './registrations.ts';
import {
	type ChooseInstance,
	getInstancesHandler,
	getServiceHandler,
	listServicesHandler,
	unwatchServiceHandler,
	watchServiceHandler,
} from './services.ts';
import { helloHandler, pingHandler, statusHandler, takeOverHandler } from './session.ts';
import type { StatusView } from './status-view.ts';

/** What the functions of a sidecar work with. */
export interface HandlersContext {
	/** Told in hello; differs for every sidecar. */
	readonly instance: string;
	readonly source: SidecarSource;
	readonly registrations: Registrations | undefined;
	readonly limits: ResolvedLimits;
	readonly clock: Clock;
	/** Picks an instance for getService. */
	readonly choose: ChooseInstance;
	readonly handOver: HandOver;
	readonly status: () => StatusReply;
	/** What the status page shows. */
	readonly view: (() => StatusView) | undefined;
	readonly connections: Watchers;
}

/** A handler for each function that a client may call. */
export function createHandlers(context: HandlersContext): Handlers {
	const { instance, source, registrations, limits, clock, choose, handOver, status, connections } = context;
	const { frameBytesMax, inFlightMax } = limits;
	return {
		hello: helloHandler(SIDECAR_VERSION, instance, { frameBytesMax, inFlightMax }),
		ping: pingHandler,
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
		status: statusHandler(status, clock, context.view),
		explain: explainHandler(source, connections, clock),
		takeOver: takeOverHandler(handOver, clock),
	};
}
