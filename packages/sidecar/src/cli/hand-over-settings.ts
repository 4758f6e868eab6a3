import type { Setting } from './settings.ts';

/** Settings of replacing a sidecar, and of restarting one. */
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
	{
		name: 'supervise',
		flag: '--supervise',
		env: 'SPOCK_SUPERVISE',
		help: 'a small parent process holds the sockets and restarts the sidecar when it crashes',
		kind: 'boolean',
		fallback: 'false',
	},
	{
		name: 'superviseStandby',
		flag: '--supervise-standby <on|off>',
		env: 'SPOCK_SUPERVISE_STANDBY',
		help: 'whether a loaded process waits to take the place of one that crashes; off saves its memory',
		kind: ['on', 'off'],
		fallback: 'on',
	},
	{
		name: 'superviseStableMs',
		flag: '--supervise-stable-ms <ms>',
		env: 'SPOCK_SUPERVISE_STABLE_MS',
		help: 'one that has served for this long is replaced at once when it crashes; before that restarts are backed off',
		kind: 'integer',
		fallback: '5000',
	},
	{
		name: 'superviseHangMs',
		flag: '--supervise-hang-ms <ms>',
		env: 'SPOCK_SUPERVISE_HANG_MS',
		help: 'one that is silent for this long is killed and replaced; 0 for never',
		kind: 'integer',
		fallback: '30000',
	},
];
