import type { GoawayData } from '@spock/protocol';

/** Why a connection ended. */
export type CloseReason =
	| 'client'
	| 'error'
	| 'bad-frames'
	| 'frame-too-large'
	| 'partial-frame'
	| 'slow-consumer'
	| 'shutdown';

/** What happens in a sidecar, for whoever counts and logs it. Called often: implementations must be cheap and not throw. */
export interface SidecarObserver {
	/**
	 * Requests were answered; `code` is an error code, or `ok`. `func` is `other` for functions that do not exist. Those
	 * that came together and were answered at once are told together: their duration is that of the chunk they came in.
	 */
	answered?(func: string, code: string, durationMs: number, count: number): void;
	connectionOpened?(id: number): void;
	connectionClosed?(id: number, reason: CloseReason, bytesRead: number, bytesWritten: number): void;
	/** Refused because `connectionsMax` are open. */
	connectionRefused?(): void;
	/** A snapshot was pushed, or left out because a newer one came before the client had read. */
	pushed?(kind: 'sent' | 'superseded'): void;
	goaway?(data: GoawayData): void;
	/** A handler threw something that is no SpockError: a fault of ours, with its cause. */
	fault?(func: string, cause: unknown): void;
	phase?(phase: string): void;
	/** The place that a successor took and lost could not be taken back: nobody can connect any more. */
	placeLost?(error: unknown): void;
}
