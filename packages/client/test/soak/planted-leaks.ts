import type { Mutation } from '../worker-process.ts';
import type { ProcessFigures } from './process-figures.ts';

/** A leak put in on purpose, to see that the soak finds it: by this figure at least, on this side. */
export interface PlantedLeak {
	readonly name: string;
	readonly side: 'client' | 'sidecar';
	readonly figure: keyof ProcessFigures | 'heap';
	readonly mutation: Mutation;
}

const CLIENT = 'packages/client/src';
const SERVER = 'packages/sidecar/src/connection';

/** One of each kind that the soak is there to find. */
export const plantedLeaks: readonly PlantedLeak[] = [
	{
		name: 'a listener: a call that has ended goes on listening to its signal',
		side: 'client',
		// One listener serves all calls of a signal: what is left is their entries.
		figure: 'heap',
		mutation: { file: `${CLIENT}/calls/call.ts`, find: 'offAbort(this.#signal, this);', replace: '' },
	},
	{
		name: 'a timer: the heartbeat of a session that is gone goes on',
		side: 'client',
		figure: 'timers',
		mutation: { file: `${CLIENT}/connection/session.ts`, find: '\t\tthis.#heartbeat.stop();\n', replace: '' },
	},
	{
		name: 'an entry of a map: the number of a connection that is gone is kept',
		side: 'sidecar',
		figure: 'heap',
		mutation: {
			file: `${SERVER}/connection-registry.ts`,
			find: 'if (!this.#connections.delete(connection.id)) return;',
			replace: `if (!this.#connections.delete(connection.id)) return;
				((globalThis as any).planted ??= new Map()).set(connection.id, connection.id);`,
		},
	},
	{
		name: 'an object: a session that is gone is kept',
		side: 'client',
		figure: 'heap',
		mutation: {
			file: `${CLIENT}/connection/session.ts`,
			find: '\t\tthis.#heartbeat.stop();\n',
			replace: '\t\tthis.#heartbeat.stop();\n\t\t((globalThis as any).planted ??= new Set()).add(this);\n',
		},
	},
	{
		name: 'a subscription: the watches of a connection that is gone go on',
		side: 'sidecar',
		figure: 'held',
		mutation: {
			file: `${SERVER}/subscriptions.ts`,
			find: 'for (const { watch } of this.#subscriptions.values()) watch.stop();',
			replace: '',
		},
	},
	{
		name: 'a file descriptor: a file is opened beside every socket and stays open',
		side: 'client',
		figure: 'fds',
		mutation: {
			file: `${CLIENT}/foundation/transport.ts`,
			find: '\treadBuffer ??= ',
			replace: "\tprocess.getBuiltinModule('node:fs').openSync('/dev/null');\n\treadBuffer ??= ",
		},
	},
];
