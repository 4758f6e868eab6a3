import type { IncomingMessage } from 'node:http';

import type { ConsulParameters } from './consul-call.ts';
import type { ConsulClient, ConsulCommon } from './consul-client.ts';

/** What to ask Consul, whichever address answers. */
export interface ConsulQuestion<T> {
	/** Query parameters, all of them: the npm package drops most of those that it is given. */
	readonly parameters?: ConsulParameters;
	/** Sent as JSON in place of what the npm package would make of its options. */
	readonly body?: unknown;
	/** A longer answer is FRAME_TOO_LARGE. Default: no limit. */
	readonly answerBytesMax?: number;
	/** A token for this question alone; null for none. Default: the connection's. */
	readonly token?: string | null;
	/** Texts that must stand in no error, besides the token. */
	readonly secrets?: readonly string[];
	/** Makes the call: a method of the package's client, or `sendRequest`. */
	readonly send: (client: ConsulClient, common: ConsulCommon) => Promise<unknown>;
	/** Throws what makes the answer no answer: another address is asked then. */
	readonly read: (response: IncomingMessage, body: unknown) => T;
}

/** How one call that does not block is made. */
export interface ConsulCallOptions {
	readonly signal?: AbortSignal | undefined;
	/** For all addresses together, in milliseconds. Default 10000. */
	readonly timeoutMs?: number | undefined;
	/** Asks the first address alone: what belongs to one agent (a registration) means nothing to the others. */
	readonly isFirstOnly?: boolean;
}
