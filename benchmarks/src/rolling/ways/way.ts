import type { ClientSettings } from '../rolling-messages.ts';

/** A way to call the service. */
export interface Way {
	/** One request, with whatever is tried again in it: the name of the instance that answered. */
	call(): Promise<string>;
	/** Second and later tries so far. */
	retries(): number;
	close(): Promise<void> | void;
}

export type OpenWay = (settings: ClientSettings) => Promise<Way>;

/** Tries after the first that a request has, in every way that tries again. */
export const RETRIES_MAX = 2;

/** How long one try may take, in milliseconds; long, because a busy machine is slow and nothing here hangs. */
export const TRY_MS_MAX = 20_000;
