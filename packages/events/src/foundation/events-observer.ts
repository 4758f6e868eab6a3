import type { SpockError } from '@spock/protocol';

/** Records that were written once and cannot be read. */
export interface DamageReport {
	/** The file, without its directory. */
	readonly file: string;
	/** The first position that is lost, and the one behind the last. */
	readonly from: number;
	readonly to: number;
}

/**
 * What happens, for logs and metrics. Every member is optional, is called in the tick of what it reports, and must not throw. Those
 * with a count are called once for a commit or a batch, not for each event.
 */
export interface EventsObserver {
	/** Events were appended, and are not on disk yet. */
	accepted?(stream: string, count: number): void;
	persisted?(stream: string, count: number): void;
	/** An event was taken out of its producer's sequence. */
	refused?(stream: string | null, error: { readonly code: string; readonly message: string }): void;
	/** A repetition, by its `id`: it was not appended again. */
	duplicate?(stream: string, count: number): void;
	/** Events were delivered; `group` is null for a reader of its own. */
	delivered?(stream: string, group: string | null, count: number): void;
	/** Some of them were delivered before. */
	redelivered?(stream: string, group: string | null, count: number): void;
	/** An event went to the stream of the dead. */
	dead?(stream: string, group: string | null, reason: string): void;
	/** One sync of the disk has ended. */
	synced?(durationMs: number): void;
	/** Nothing is taken any more, and why; null: events are taken again. */
	blocked?(reason: string | null): void;
	damaged?(report: DamageReport): void;
	/** The state of the log has changed; `reason` says why nothing is taken, null while events are. */
	logState?(state: string, reason: string | null): void;
	/** A write, a sync or a look at the owner failed; it is tried again in a new file. */
	failed?(error: SpockError): void;
	/** A producer was told more than the log knows: the log was lost. */
	logLost?(producer: string, known: number, told: number): void;
	/** Segments that no group needs were deleted. */
	trimmed?(below: number): void;
	/** A store elsewhere has acknowledged events, the last of them so long after they were sent. */
	stored?(stream: string, count: number, ackMs: number): void;
	/** A store will never take an event: it went to `<stream>.refused`, and those behind it go on. */
	parked?(stream: string, error: SpockError): void;
	/** A store failed as a whole; what it has not acknowledged is sent again after a while. */
	storeFailed?(stream: string, error: SpockError): void;
	/** Consumers get nothing from the store of a stream, for this reason: it is asked again. Once, until it works. */
	storeUnreadable?(stream: string, error: SpockError): void;
	/** A store that had failed for so long works again. */
	storeWorks?(stream: string, failedMs: number): void;
	/** A store has lost events that it had acknowledged, above `from` up to `to`: they are sent again. */
	storeWentBack?(stream: string, from: number, to: number): void;
	/** The way of a stream to its store has another state. */
	forwarding?(stream: string, state: string): void;
	/** Events of a stream are on disk and not in its store at the end; the next sidecar goes on with them. */
	unstoredAtExit?(stream: string, count: number): void;
	/** So many records were taken and are not on disk at the end. Their producers were told of none. */
	leftAtExit?(records: number): void;
}
