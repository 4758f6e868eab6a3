import type { Duplex } from 'node:stream';

import { type SnapshotSource, SpockError } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';
import type { SocketAddress } from '@spock/protocol/node';

import type { SidecarSource } from '../foundation/sidecar-source.ts';
import type { Listen, Listener, ListenOptions } from '../listen/listener.ts';
import type { KnownQueries } from './messages.ts';
import { findPredecessor, type Predecessor } from './predecessor.ts';
import { untilFree } from './until-free.ts';
import { atMost, warmUp } from './warm-up.ts';

/** How long the sidecar in place may take for an answer before it counts as hung. */
const ANSWER_MS_MAX = 2000;

/** How many sidecars in place may end, one after another, just when they are asked. */
const FIND_ATTEMPTS_MAX = 3;

/** What became of a take-over, for the log. */
export interface TakeOverEvent {
	/**
	 * `nobody`: there was no sidecar, and this one starts as usual. `begun`: it was found, and its queries are being
	 * repeated here. `ending`: it was already leaving. `hung`: it does not answer; it is replaced, and its clients move when their
	 * heartbeat fails. `refused`: it is replaced, but answers that it does not leave. `finished`: it is leaving.
	 * `port late`: it still has a port, which is retried in the background; `port bound`: that retry has succeeded.
	 */
	readonly step: 'nobody' | 'begun' | 'ending' | 'hung' | 'refused' | 'finished' | 'port late' | 'port bound';
	/** Queries that it had answers to, as this one has now. */
	readonly questions: number;
	/** Why it does not leave, or why the port could not be bound. */
	readonly error?: Error;
}

/** Options of a take-over. */
export interface TakeOverOptions {
	/** How long the registry may take to answer what the sidecar in place knows, and the disk to read its log, in milliseconds. */
	readonly warmUpMs: number;
	readonly told?: (event: TakeOverEvent) => void;
}

/** An address to listen at, and how. */
export interface ListenPlace {
	readonly address: SocketAddress;
	readonly options: ListenOptions<Duplex>;
}

/** What a take-over works with. */
export interface TakeOverContext extends TakeOverOptions {
	readonly places: readonly ListenPlace[];
	readonly listen: Listen;
	readonly source: SidecarSource;
	readonly clock: Clock;
	/** Reads ahead what the sidecar in place gives up last, while it serves. Never rejects. */
	readonly prepare?: () => Promise<void>;
	/** Lets a successor of this process connect, before it replaces another one: see `HandOver.open`. */
	readonly open: () => Promise<void>;
	/** Default: {@link findPredecessor}. */
	readonly find?: typeof findPredecessor;
	/** Aborts when the process must end. Nothing has changed until the path is taken. */
	readonly signal: AbortSignal;
	/** Called with each listener as soon as it is bound; the caller closes it, also when the take-over fails. */
	readonly bound: (listener: Listener) => void;
}

/** The sidecar in place, as far as it answers. */
interface Found {
	readonly predecessor: Predecessor;
	/** How long it may take to confirm that it is replaced; undefined for one that ends by itself. */
	readonly finishMs: number | undefined;
	/** What it knows; undefined if it did not answer. */
	readonly questions: KnownQueries | undefined;
}

/**
 * Binds every address in place of the sidecar that is there, in an order in which no client is refused: beside the path,
 * then its queries are repeated and its log is read, then the path is taken, then it is asked to leave, then ports are bound. Rejects before
 * the path is taken if anything is wrong; the sidecar in place then continues. Resolves with where the answers come from.
 */
export async function takeOver(context: TakeOverContext): Promise<SnapshotSource | undefined> {
	const { places, told } = context;
	const paths = places.filter(({ address }) => 'path' in address);
	const [path] = paths.flatMap(({ address }) => ('path' in address ? address.path : []));
	if (path === undefined) throw new Error('no socket path to take over: --take-over needs --socket');
	const listeners: Listener[] = [];
	for (const place of paths) listeners.push(await bindPath(context, place));
	// At once: while it is found out that the one in place hangs, its log is read.
	const prepared = context.prepare?.();
	const found = await find(context, path);
	const deadlineMs = context.clock.now() + context.warmUpMs;
	let answered: SnapshotSource | undefined;
	try {
		if (found?.questions !== undefined) answered = await warmUp(context, found.questions);
		// A log that takes longer is read when it is opened: lookups need none of it.
		if (prepared !== undefined) await untilPrepared(context, prepared, deadlineMs);
		// The last moment at which nothing has changed.
		context.signal.throwIfAborted();
		// It may have died and been restarted meanwhile: the new one must not be mistaken for the one that was asked.
		const how = found === undefined || found.predecessor.isClosed() ? 'if free' : 'replace';
		// First, so that a third sidecar which finds the path changed connects to this one, not to the one that leaves.
		if (how === 'replace') await context.open();
		for (const { place } of listeners) await place?.publish(how);
		if (found !== undefined) await tellToLeave(found, context);
	} finally {
		found?.predecessor.close();
	}
	if (found === undefined) told?.({ step: 'nobody', questions: 0 });
	for (const place of places.filter((one) => !paths.includes(one))) await bindPort(context, place, listeners);
	return answered;
}

/** Waits for it until then. Returns at once when the process must end. */
async function untilPrepared(
	{ clock, signal }: TakeOverContext,
	prepared: Promise<void>,
	deadlineMs: number,
): Promise<void> {
	const heard = new AbortController();
	const ended = new Promise<void>((resolve) => {
		if (signal.aborted) resolve();
		signal.addEventListener('abort', () => resolve(), { once: true, signal: heard.signal });
	});
	try {
		await atMost(clock, deadlineMs - clock.now(), Promise.race([prepared, ended]));
	} finally {
		heard.abort();
	}
}

/** The path is taken, and served: a port that stays taken does not undo that. */
async function bindPort(context: TakeOverContext, place: ListenPlace, paths: readonly Listener[]): Promise<void> {
	const { clock, told, listen } = context;
	const replaced = new AbortController();
	let isLate = false;
	await untilFree({
		clock,
		signal: AbortSignal.any([context.signal, replaced.signal]),
		bind: async () => {
			// The next successor, if there is one by now, needs the port.
			const isReplaced = isLate && (await Promise.all(paths.map((one) => one.place?.isReplaced()))).includes(true);
			if (isReplaced) replaced.abort();
			replaced.signal.throwIfAborted();
			return listen(place.address, { ...place.options, beside: false });
		},
		bound: (listener) => {
			context.bound(listener);
			if (isLate) told?.({ step: 'port bound', questions: 0 });
		},
		late: (error) => {
			isLate = true;
			told?.({ step: 'port late', questions: 0, error });
		},
	});
}

async function bindPath(context: TakeOverContext, place: ListenPlace): Promise<Listener> {
	const listener = await context.listen(place.address, { ...place.options, beside: true });
	context.bound(listener);
	return listener;
}

async function find(context: TakeOverContext, path: string, attempt = 1): Promise<Found | undefined> {
	const { find: connect = findPredecessor, clock, told } = context;
	const predecessor = await connect(path, clock);
	if (predecessor === undefined) return undefined;
	try {
		const questions = await predecessor.begin(ANSWER_MS_MAX);
		told?.({ step: 'begun', questions: questions.services.length + questions.keys.length });
		return { predecessor, finishMs: ANSWER_MS_MAX, questions };
	} catch (error) {
		if (SpockError.is(error, 'UNAVAILABLE')) {
			told?.({ step: 'ending', questions: 0 });
			return { predecessor, finishMs: undefined, questions: undefined };
		}
		if (SpockError.is(error, 'TIMEOUT')) {
			told?.({ step: 'hung', questions: 0 });
			// It has not answered the last question either: it reads this one when it wakes up.
			return { predecessor, finishMs: 1, questions: undefined };
		}
		predecessor.close();
		// It has just ended: now there is none, or another one.
		if (SpockError.is(error, 'DISCONNECTED') && attempt < FIND_ATTEMPTS_MAX) return find(context, path, attempt + 1);
		throw error;
	}
}

/** The place is taken: what goes wrong from here on does not undo that. */
async function tellToLeave({ predecessor, finishMs, questions }: Found, { told }: TakeOverContext): Promise<void> {
	if (finishMs === undefined) return;
	const count = (questions?.services.length ?? 0) + (questions?.keys.length ?? 0);
	try {
		await predecessor.finish(finishMs);
		told?.({ step: 'finished', questions: count });
	} catch (error) {
		if (!SpockError.is(error, 'TIMEOUT') && !predecessor.isClosed()) {
			told?.({ step: 'refused', questions: count, error: SpockError.from(error) });
		} else if (questions !== undefined) {
			// It has died, or hangs. Without its queries that was reported already.
			told?.({ step: 'hung', questions: count });
		}
	}
}
