import type { Registrations } from '@spock/discovery';
import type { StatusReply } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import type { Handlers } from '../connection/answer.ts';
import type { ResolvedLimits } from '../foundation/limits.ts';
import type { SidecarSource } from '../foundation/sidecar-source.ts';
import { SIDECAR_VERSION } from '../foundation/version.ts';
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
import { helloHandler, pingHandler, statusHandler } from './session.ts';

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
	readonly status: () => StatusReply;
	readonly connections: Watchers;
}

/** A handler for each function that a client may call. */
export function createHandlers(context: HandlersContext): Handlers {
	const { instance, source, registrations, limits, clock, choose, status, connections } = context;
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
		status: statusHandler(status, clock),
		explain: explainHandler(source, connections, clock),
	};
}
