import type { Push } from '@spock/protocol';
import type { ResolvedOptions } from '../foundation/options.ts';
import type { Session, SessionListener } from './session.ts';

/**
 * The name of the method of a Diplomat by which another entry of this package, such as `./events`, joins it. It is registered, so
 * that the copies of this package for `import` and for `require` find each other, and it is not part of the public types.
 */
export const EXTEND: unique symbol = Symbol.for('@spock/client/extend');

/** A part of a client that only apps which use it load. It is notified of what the connection to the sidecar does. */
export interface Extension {
	/** New calls go to this session from now on; it has been greeted. Also called when it joins a client that has one. */
	adopted(session: Session): void;
	/** There is no session now. */
	lost(): void;
	/** A push of the sidecar that the client itself does not know. */
	push(session: Session, push: Push): void;
	/** The client drains: calls can still be made until this resolves. A rejection reaches the caller of `drain`. */
	drain(): Promise<void>;
	/** The client closes. Resolves when every connection of the extension is gone. Idempotent. */
	close(): Promise<void>;
}

/** What an extension may use of its client. */
export interface ExtensionHost {
	readonly options: ResolvedOptions;
	/**
	 * Opens a further connection to the same sidecar, with the same transport, token and hello; the extension owns it. A quiet one has no
	 * heartbeat: neither side writes anything of its own accord.
	 */
	dial(listener: SessionListener, isQuiet?: boolean): Session;
	/** The extension has ended by itself. */
	leave(): void;
}

/** A client as an extension sees it. */
export interface Extensible {
	/** Undefined in direct mode, which has no sidecar. Throws CLOSED after the end of the client. */
	[EXTEND]<E extends Extension>(make: (host: ExtensionHost) => E): E | undefined;
}
