import type { ServiceSource } from '@spock/protocol';

import type { CloseReason } from '../foundation/observer.ts';
import type { TokenCheck, TokenHolder } from '../listen/tokens.ts';
import type { ReadGateContext } from '../overload/read-gate.ts';
import type { EventSessions } from './event-session.ts';
import type { PackedInputs } from './packed-input.ts';
import type { RequestsContext } from './requests.ts';
import type { SnapshotPush } from './snapshot-delta.ts';

/** What every connection shares. */
export interface ConnectionContext extends RequestsContext, ReadGateContext {
	readonly source: ServiceSource;
	/** What takes and delivers events. Undefined: none are. */
	readonly events?: EventSessions | undefined;
	readonly packedInputs: PackedInputs;
	/** A snapshot was pushed. */
	readonly pushed: (push: SnapshotPush) => void;
}

/** What has accepted one connection: lets it in, and is notified of it. */
export interface ConnectionOwner {
	/** Nothing is answered before a hello with one of them. Undefined: no token is required. */
	readonly tokens: TokenCheck | undefined;
	/** It has sent the valid token of this holder. Returns false if there is no room for it. */
	readonly enter: (holder: TokenHolder) => boolean;
	/** Called once, when the connection is gone. */
	readonly closed: (reason: CloseReason) => void;
	/** Its client was silent for too long, for this reason; undefined: it is heard again. */
	readonly silent: (reason: string | undefined) => void;
}
