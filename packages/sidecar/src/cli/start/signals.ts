import type { Logger } from 'pino';

import type { Sidecar } from '../../sidecar.ts';

const ENDING = ['SIGTERM', 'SIGINT'] as const;
/** By which other programs are asked to read their files again. Node ends a process on them at once, and its socket file stays. */
const ASKING = ['SIGHUP', 'SIGUSR2'] as const;

/**
 * Ends the sidecar on SIGTERM and SIGINT, of which `asked` knows; on SIGHUP too at a terminal, which has gone away then. Elsewhere
 * SIGHUP, and SIGUSR2, change nothing, because changed files are read without being asked. `stopListening` removes the handlers.
 */
export function endWhenAsked(
	sidecar: Sidecar,
	log: Logger,
	isTerminal: boolean,
): { readonly asked: AbortSignal; stopListening(): void } {
	const asking = new AbortController();
	const end = (signal: NodeJS.Signals): void => {
		log.info({ signal }, 'signal received; shutting down');
		asking.abort();
		sidecar.terminate();
	};
	const ignore = (signal: NodeJS.Signals): void => {
		if (isTerminal && signal === 'SIGHUP') end(signal);
		else log.info({ signal }, 'signal ignored; changed files are read anyway');
	};
	for (const signal of ENDING) process.on(signal, end);
	for (const signal of ASKING) process.on(signal, ignore);
	return {
		asked: asking.signal,
		stopListening: () => {
			for (const signal of ENDING) process.off(signal, end);
			for (const signal of ASKING) process.off(signal, ignore);
		},
	};
}
