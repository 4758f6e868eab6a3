import type { Setting } from './settings.ts';

/** Settings of the replay backend. */
export const replaySettings: readonly Setting[] = [
	{
		name: 'record',
		flag: '--record <file>',
		env: 'SPOCK_RECORD',
		help: 'what the replay backend plays, as `sidecar record` has written it',
		kind: 'text',
		fallback: 'none',
	},
	{
		name: 'replaySpeed',
		flag: '--replay-speed <factor>',
		env: 'SPOCK_REPLAY_SPEED',
		help: 'how much faster than it was recorded, as 60 or 0.5; max tells its end at once',
		kind: 'text',
		fallback: '1',
	},
	{
		name: 'replayLoop',
		flag: '--replay-loop',
		env: 'SPOCK_REPLAY_LOOP',
		help: 'begin again when the record is over; otherwise what it told last stays',
		kind: 'boolean',
		fallback: 'false',
	},
];
