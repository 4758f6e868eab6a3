import {
	type BackendStatus,
	type CallOptions,
	queryKey,
	type ServiceInstance,
	type ServiceListEntry,
	type ServiceQuery,
	SpockError,
} from '@spock/protocol';
import { type Clock, systemClock, type TimerHandle } from '@spock/protocol/internal';
import type { Backend, BackendObserver, BackendWatch } from '../../foundation/backend.ts';
import { askedInstances } from '../../foundation/good-instances.ts';
import { throwIfAborted } from '../../foundation/waiting.ts';
import { type Recording, readRecording } from './read-recording.ts';
import type { RecordLine, SnapshotRecord } from './record-format.ts';

/** The longest that a timer waits; a pause that is longer is waited for in parts. */
const TIMER_MS_MAX = 2 ** 31 - 1;
/** Between two rounds: what was there last is to be seen, and a record without length must not take the whole process. */
const ROUND_PAUSE_MS = 1000;

/** Options of {@link createReplayBackend}. */
export interface ReplayBackendOptions {
	/** A file that `sidecar record` has written. */
	readonly file: string;
	/** How much faster than it was: 2 for twice as fast, 0.5 for half. 0 tells the end of the record at once. Default 1. */
	readonly speed?: number;
	/** Begins again when it is over. Not with `speed: 0`. Default false: what was told last stays. */
	readonly loop?: boolean;
	/** Default: the clock of the process. */
	readonly clock?: Clock;
}

/**
 * A registry that is a recorded one, at its own or any other pace. Every service that was there when the record began is
 * there at once. Rejects with a RecordFileError that names file and line, or with an Error that names the file or the option.
 */
export async function createReplayBackend(options: ReplayBackendOptions): Promise<Backend> {
	const { file, speed = 1, loop = false, clock = systemClock } = options;
	if (!(Number.isFinite(speed) && speed >= 0)) throw new RangeError(`speed must be a number from 0, not ${speed}`);
	if (loop && speed === 0)
		throw new RangeError('loop cannot be combined with speed 0, which replays everything at once');
	const backend = new ReplayBackend(file);
	backend.play(await readRecording(file), { speed, loop, clock });
	return backend;
}

/** What is known of a service at this moment of the record. */
type Known = Pick<SnapshotRecord, 'instances' | 'source' | 'held'>;

const NOTHING: Omit<SnapshotRecord, 'service'> = {
	type: 'snapshot',
	t: 0,
	at: 0,
	revision: 0,
	source: 'live',
	ageMs: 0,
	instances: Object.freeze([]),
};

/** The lines that tell what there was at the beginning. */
function countFirst(lines: readonly RecordLine[]): number {
	return lines.findIndex(({ type }) => type === 'begun') + 1;
}

interface Watching {
	readonly query: ServiceQuery;
	readonly observer: BackendObserver;
}

interface Pace {
	readonly speed: number;
	readonly loop: boolean;
	readonly clock: Clock;
}

/** The backend, given lines by its own timer; exported for its tests, which give them by hand. */
export class ReplayBackend implements Backend {
	readonly name = 'replay';
	/** An empty list was believed when it was recorded. */
	readonly trustsEmpty = true;
	readonly #file: string;
	readonly #known = new Map<string, Known>();
	readonly #watching = new Set<Watching>();
	#stop: () => void = () => undefined;
	#isClosed = false;

	constructor(file: string) {
		this.#file = file;
	}

	/** Plays a record from its beginning. */
	play({ lines }: Pick<Recording, 'lines'>, pace: Pace): void {
		const first = pace.speed === 0 ? lines.length : countFirst(lines);
		for (const line of lines.slice(0, first)) this.apply(line);
		this.#schedule(lines, first, pace);
	}

	/** Makes true what a line says, and tells it. */
	apply(line: RecordLine): void {
		if (line.type !== 'snapshot') return;
		const { service, instances, source, held } = line;
		this.#known.set(service, { instances, source, ...(held && { held }) });
		for (const watching of [...this.#watching]) if (watching.query.service === service) this.#notify(watching);
	}

	watch(query: ServiceQuery, observer: BackendObserver): BackendWatch {
		this.#refuseIfClosed();
		const watching = { query, observer };
		this.#watching.add(watching);
		// In an outage the instances are known from before it: a failure alone would be a service that nobody knows.
		if (this.#known.get(query.service)?.source === 'last-known-good') observer.answered(this.#instances(query));
		if (this.#watching.has(watching)) this.#notify(watching);
		return { stop: () => void this.#watching.delete(watching) };
	}

	async list(
		query: { readonly datacenter?: string } = {},
		{ signal }: CallOptions = {},
	): Promise<readonly ServiceListEntry[]> {
		this.#refuseIfClosed();
		throwIfAborted(signal);
		return [...this.#known.keys()].sort().flatMap((name) => {
			const instances = this.#instances({ service: name, ...query });
			if (instances.length === 0) return [];
			return { name, tags: [...new Set(instances.flatMap(({ tags }) => tags))].sort() };
		});
	}

	status(): BackendStatus {
		const known = [...this.#known.values()];
		const isDown = known.length > 0 && known.every(({ source }) => source === 'last-known-good');
		return {
			name: this.name,
			state: isDown ? 'down' : 'up',
			addresses: [this.#file],
			error: isDown ? 'the recording has an outage at this point' : null,
			lastSuccessAgeMs: isDown ? null : 0,
		};
	}

	async close(): Promise<void> {
		this.#isClosed = true;
		this.#stop();
		this.#watching.clear();
	}

	#refuseIfClosed(): void {
		if (this.#isClosed) throw new SpockError('CLOSED', 'the replay was closed');
	}

	#schedule(lines: readonly RecordLine[], first: number, pace: Pace): void {
		const { speed, clock } = pace;
		const beganAtMs = clock.now();
		const fromMs = first === 0 ? 0 : (lines[first - 1] as RecordLine).t;
		let next = first;
		const wait = (): void => {
			const line = lines[next];
			if (line === undefined) {
				if (pace.loop) this.#again(lines, pace);
				return;
			}
			const leftMs = (line.t - fromMs) / speed - (clock.now() - beganAtMs);
			this.#arm(clock, leftMs, leftMs <= TIMER_MS_MAX ? applyDue : wait);
		};
		const applyDue = (): void => {
			const dueMs = fromMs + (clock.now() - beganAtMs) * speed;
			// The line that the timer was for is due, whatever rounding says.
			do this.apply(lines[next++] as RecordLine);
			while (next < lines.length && (lines[next] as RecordLine).t <= dueMs);
			wait();
		};
		wait();
	}

	/** From the beginning: what was not there then is not there now. */
	#again(lines: readonly RecordLine[], pace: Pace): void {
		this.#arm(pace.clock, ROUND_PAUSE_MS, () => {
			const first = lines.slice(0, countFirst(lines));
			const atFirst = new Set(first.map((line) => (line.type === 'snapshot' ? line.service : '')));
			for (const service of [...this.#known.keys()]) if (!atFirst.has(service)) this.apply({ ...NOTHING, service });
			this.play({ lines }, pace);
		});
	}

	#arm(clock: Clock, delayMs: number, due: () => void): void {
		if (this.#isClosed) return;
		const timer: TimerHandle = clock.setTimeout(due, Math.min(TIMER_MS_MAX, Math.max(0, delayMs)));
		timer.unref?.();
		this.#stop = () => clock.clearTimeout(timer);
	}

	#notify({ query, observer }: Watching): void {
		const known = this.#known.get(query.service);
		if (known?.source !== 'last-known-good') {
			observer.answered(this.#instances(query));
			return;
		}
		const why = known.held ? 'the registry returned no instances, which was not believed' : 'there was an outage';
		observer.failed(new SpockError('UNAVAILABLE', `at this point of the recording of ${query.service}, ${why}`));
	}

	#instances(query: ServiceQuery): readonly ServiceInstance[] {
		const all = this.#known.get(query.service)?.instances ?? Object.freeze([]);
		return queryKey(query) === query.service ? all : askedInstances(query, all);
	}
}
