import type { SidecarObserver } from '../../foundation/observer.ts';

/** The log and the metrics as one observer; each is told what is for it. `phased` is told each phase too. */
export function observeBoth(
	log: SidecarObserver,
	metrics: SidecarObserver,
	phased: (phase: string) => void,
): SidecarObserver {
	return {
		answered: (...told) => metrics.answered?.(...told),
		grpcAnswered: (...told) => metrics.grpcAnswered?.(...told),
		connectionOpened: (...told) => {
			log.connectionOpened?.(...told);
			metrics.connectionOpened?.(...told);
		},
		connectionClosed: (...told) => {
			log.connectionClosed?.(...told);
			metrics.connectionClosed?.(...told);
		},
		connectionRefused: () => metrics.connectionRefused?.(),
		pushed: (kind) => metrics.pushed?.(kind),
		traced: (request) => log.traced?.(request),
		greeted: (client) => log.greeted?.(client),
		notLeft: (...told) => log.notLeft?.(...told),
		silent: (...told) => log.silent?.(...told),
		oversize: (...told) => log.oversize?.(...told),
		goaway: (data) => {
			log.goaway?.(data);
			metrics.goaway?.(data);
		},
		limited: (limit) => metrics.limited?.(limit),
		overload: (signals) => {
			log.overload?.(signals);
			metrics.overload?.(signals);
		},
		acceptFailed: (error) => metrics.acceptFailed?.(error),
		tlsFailed: (reason) => metrics.tlsFailed?.(reason),
		windowTold: (direction) => metrics.windowTold?.(direction),
		fault: (...told) => {
			log.fault?.(...told);
			metrics.fault?.(...told);
		},
		phase: (phase) => {
			log.phase?.(phase);
			metrics.phase?.(phase);
			phased(phase);
		},
		place: (...told) => log.place?.(...told),
		readiness: (state) => log.readiness?.(state),
		placeLost: (error) => {
			log.placeLost?.(error);
			metrics.placeLost?.(error);
		},
	};
}
