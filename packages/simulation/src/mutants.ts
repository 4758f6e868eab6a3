/** A bug, planted on purpose: one text of one source becomes another. Never written to disk. */
export interface Mutant {
	readonly name: string;
	/** From `packages/`. */
	readonly file: string;
	/** Stands in the file exactly once. */
	readonly find: string;
	readonly replace: string;
	/** A seed that finds it; it is tried first. */
	readonly seed: number;
}

/** What the simulation must find, every one. */
export const MUTANTS: readonly Mutant[] = [
	{
		name: 'a late reply settles whoever has the slot now: the whole id is not compared',
		file: 'protocol/src/in-flight-ring.ts',
		find: 'if (entry === undefined || this.#ids[slot] !== id) return undefined;',
		replace: 'if (entry === undefined) return undefined;',
		seed: 110,
	},
	{
		name: 'deadlines are not armed when a call is sent',
		file: 'client/src/calls/request-channel.ts',
		find: '		this.#deadlines.arm(call.deadlineMs);\n		this.#port.write(line);',
		replace: '		this.#port.write(line);',
		seed: 2,
	},
	{
		name: 'after a sweep the next deadline is not armed',
		file: 'client/src/calls/deadline-timer.ts',
		find: '		this.arm(Math.max(nextMs, nowMs + DEADLINE_RESOLUTION_MS));\n',
		replace: '',
		seed: 1,
	},
	{
		name: 'deadlines of a connection that is gone are not disarmed',
		file: 'client/src/calls/request-channel.ts',
		find: '		this.#deadlines.clear();\n		this.#memo.clear();',
		replace: '		this.#memo.clear();',
		seed: 1,
	},
	{
		name: 'a call is settled twice: a caller that gave up is not taken from its owner',
		file: 'client/src/calls/request-channel.ts',
		find: '		if (this.#take(call.id) === undefined) return;\n		if (this.sendsCancel)',
		replace: '		if (this.sendsCancel)',
		seed: 1,
	},
	{
		name: 'the calls of a lost connection are forgotten',
		file: 'client/src/connection/connection.ts',
		find: '			} else call.reject(this.#held.lostError(call));',
		replace: '			}',
		seed: 1,
	},
	{
		name: 'goaway is ignored',
		file: 'client/src/connection/connection.ts',
		find: "if (session === this.#sessions.current) this.#dispatch('goaway');",
		replace: '',
		seed: 4,
	},
	{
		name: 'nothing is subscribed to again after a reconnect',
		file: 'client/src/snapshots/subscriptions.ts',
		find: '		for (const subscription of [...this.#wanted.values()]) this.#subscribe(subscription, this.#kind.subscribedAgain);\n	}\n\n	/** There is no connection',
		replace: '	}\n\n	/** There is no connection',
		seed: 1,
	},
	{
		name: 'what is known stays live when the connection is lost',
		file: 'client/src/snapshots/subscription.ts',
		find: "this.#publish({ ...snapshot, source: 'last-known-good' }, verifiedAtMs);",
		replace: '',
		seed: 1,
	},
	{
		name: 'the age of a stale answer does not grow',
		file: 'client/src/snapshots/subscription.ts',
		find: 'return Object.freeze({ ...snapshot, ageMs: this.#clock.now() - this.#verifiedAtMs });',
		replace: 'return snapshot;',
		seed: 2,
	},
	{
		name: 'maxAgeMs is taken for a wish: what is too old is not asked for again',
		file: 'client/src/snapshots/subscriptions.ts',
		find: '		if (ageMs <= maxAgeMs) return known;\n		const { noun }',
		replace: '		if (ageMs >= 0) return known;\n		const { noun }',
		seed: 2,
	},
	{
		name: 'the index is kept after an error',
		file: 'discovery/src/watch-loop.ts',
		find: '				this.#index = 0;\n',
		replace: '',
		seed: 3,
	},
	{
		name: 'an index that went back is believed',
		file: 'discovery/src/blocking-index.ts',
		find: 'if (returned < previous) return { index: 0, wentBack: true };',
		replace: 'if (returned < previous) return { index: previous, wentBack: false };',
		seed: 16,
	},
	{
		name: 'an empty answer is not held back',
		file: 'discovery/src/cache-entry.ts',
		find: 'if (answered.length > 0 || served.length === 0 || emptyHoldMs === 0) return false;',
		replace: 'if (answered.length >= 0) return false;',
		seed: 6,
	},
	{
		name: 'a registry that fails leaves the answer live',
		file: 'discovery/src/cache-entry-machine.ts',
		find: "		failed: ['stale', 'publish', 'reject waiters'],\n		restored: null,\n		idle: ['evicted', 'stop the watch'],\n		close: ['evicted', 'stop the watch', 'reject waiters'],\n	},\n	held: {",
		replace:
			"		failed: ['fresh', 'reject waiters'],\n		restored: null,\n		idle: ['evicted', 'stop the watch'],\n		close: ['evicted', 'stop the watch', 'reject waiters'],\n	},\n	held: {",
		seed: 3,
	},
	{
		name: 'a timer is not cleared when the source closes',
		file: 'discovery/src/answer-cache.ts',
		find: '		this.#options.clock.clearTimeout(this.#sweepTimer);\n		for (const entry',
		replace: '		for (const entry',
		seed: 2,
	},
	{
		name: 'the revision of a push is not compared',
		file: 'sidecar/src/server/subscriptions.ts',
		find: 'if (subscription === undefined || snapshot.revision <= subscription.toldRevision) return;',
		replace: 'if (subscription === undefined) return;',
		seed: 1,
	},
	{
		name: 'a watch that was cancelled before its answer goes on',
		file: 'sidecar/src/server/subscriptions.ts',
		find: '{ signal: call.signal, asker: this.#sink.asker }',
		replace: '{ asker: this.#sink.asker }',
		seed: 11,
	},
	{
		name: 'a connection whose turn has come is not read on',
		file: 'sidecar/src/server/intake.ts',
		find: '		this.#framesLeft = this.#turnFrames;\n		this.#readOn();',
		replace: '		this.#framesLeft = this.#turnFrames;',
		seed: 1,
	},
	{
		name: 'the subscriptions of a connection that is gone stay',
		file: 'sidecar/src/server/connection-end.ts',
		find: '		requests.cancelAll();\n		pushes.clear();\n		return error',
		replace: '		requests.cancelAll();\n		return error',
		seed: 5,
	},
	{
		name: 'a request that was cancelled is answered',
		file: 'sidecar/src/server/requests.ts',
		find: 'if (this.#waiting.get(id) !== controller) return;',
		replace: '',
		seed: 2,
	},
	{
		name: 'a sidecar that was asked to end waits for its clients for ever',
		file: 'sidecar/src/lifecycle.ts',
		find: "this.#deadlineTimer = clock.setTimeout(() => this.handle('drain deadline'), delayMs);",
		replace: '',
		seed: 2,
	},
	{
		name: 'a part takes the clock of the process instead of the one that it is given',
		file: 'discovery/src/registration/registrations.ts',
		find: 'const { registrar, clock = systemClock, random, onEvent } = options;',
		replace: 'const { registrar, random, onEvent } = options;\n		const clock = systemClock;',
		seed: 1,
	},
	{
		name: 'time is taken from the process, and whoever takes it swallows what is thrown',
		file: 'sidecar/src/server/silence-watch.ts',
		find: '		this.#heardAtMs = this.#clock.now();',
		replace:
			'		try {\n			this.#heardAtMs = Date.now();\n		} catch {\n			this.#heardAtMs = this.#clock.now();\n		}',
		seed: 1,
	},
	{
		name: 'an app that has gone silent is not found',
		file: 'sidecar/src/server/silence-watch.ts',
		find: 'else if (++this.#missed === MISSED_HEARTBEATS_MAX)',
		replace: 'else if (++this.#missed > 1e9)',
		seed: 2,
	},
	{
		name: 'an app that has gone silent over TCP keeps its connection, and what it registered',
		file: 'sidecar/src/server/connection.ts',
		find: "if (isRemote) this.destroy('silent');",
		replace: 'void isRemote;',
		seed: 2,
	},
	{
		name: 'an app is taken for silent although it is heard',
		file: 'sidecar/src/server/silence-watch.ts',
		find: 'if (this.#port.bytesRead() !== this.#bytesRead) this.#note();',
		replace: 'if (this.#port.bytesRead() < this.#bytesRead) this.#note();',
		seed: 2,
	},
	{
		name: 'a half-open connection is never found by the app: a missed ping does not count',
		file: 'client/src/connection/heartbeat.ts',
		find: 'if (this.#pinged) this.#missed++;',
		replace: '',
		seed: 2,
	},
];
