import type { Setting } from './settings.ts';

/** Settings of taking the place of another sidecar. */
export const handOverSettings: readonly Setting[] = [
	{
		name: 'takeOver',
		flag: '--take-over',
		env: 'SPOCK_TAKE_OVER',
		help: 'replace the sidecar that listens at the socket, with no failed call; start as ever where there is none',
		kind: 'boolean',
		fallback: 'false',
	},
	{
		name: 'takeOverWarmUpMs',
		flag: '--take-over-warm-up-ms <ms>',
		env: 'SPOCK_TAKE_OVER_WARM_UP_MS',
		help: 'how long the registry may take to answer what the sidecar in place knows, before that one is left in place',
		kind: 'integer',
		fallback: '30000',
	},
];
