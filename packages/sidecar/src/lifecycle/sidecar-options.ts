import type { Registrations } from '@spock/discovery';
import type { BackendStatus, KeyWatchStatus, ServiceSource, SnapshotSource, WatchStatus } from '@spock/protocol';
import type { Clock, Random } from '@spock/protocol/internal';
import type { SocketAddress } from '@spock/protocol/node';
import type { SidecarLimits } from '../foundation/limits.ts';
import type { SidecarObserver } from '../foundation/observer.ts';
import type { StatusView } from '../handlers/status-view.ts';
import type { TokenCheck } from '../listen/accepted-tokens.ts';
import type { Listen } from '../listen/listener.ts';
import type { TlsListen } from '../listen/tls-server.ts';
import type { TakeOverOptions } from '../take-over/take-over.ts';
import type { FrontOptions } from './front.ts';

/** Where a sidecar's services come from: a source that also tells how it is. */
export interface SidecarSource extends ServiceSource {
	watches(): WatchStatus[];
	/** Left out by a source without keys. */
	keyWatches?(): KeyWatchStatus[];
	status(): BackendStatus;
	/** Another process stands for this one from now on: nothing that outlives the process is written any more. */
	release?(): Promise<void>;
	/** Resolves when there is something to serve, with where it comes from. Left out: `list` is asked. */
	probe?(): Promise<SnapshotSource>;
}

/** One address to listen at. */
export interface SidecarListen {
	readonly address: SocketAddress;
	/** Permissions of a socket. Default 0o660. */
	readonly socketMode?: number;
	/** Makes the socket's directory for this user alone. Default false. */
	readonly privateDirectory?: boolean;
	/** The flag that the address is from, for what errors say. Default `--socket`. */
	readonly flag?: string;
	/** Allows a TCP address that other machines can reach. Default false. */
	readonly allowRemote?: boolean;
	/** Speaks TLS; for TCP. Default: none. */
	readonly tls?: TlsListen;
	/** Answers nothing before a hello with one of these tokens. Default: everybody who can connect may speak. */
	readonly tokens?: TokenCheck;
}

/** Options of `createSidecar`. */
export interface SidecarOptions {
	/** Owned by the sidecar from now on: it closes it. */
	readonly source: SidecarSource;
	/** What apps register; owned by the sidecar from now on. Default: none, and registering is UNKNOWN_FUNC. */
	readonly registrations?: Registrations;
	/** At least one. */
	readonly listen: readonly SidecarListen[];
	/** Another protocol beside the sidecar's own. Default: none. */
	readonly front?: FrontOptions;
	readonly limits?: SidecarLimits;
	/** Takes the place of the sidecar that listens at the first path, if there is one. Default: refuses to start there. */
	readonly takeOver?: TakeOverOptions;
	/** Binds an address. For simulations; default: a socket of this process. */
	readonly listener?: Listen;
	/** What the status page shows, for `sidecar top`. Default: nothing, and it shows what `status` tells. */
	readonly view?: () => StatusView;
	/** Told what happens, to count and log it. */
	readonly observer?: SidecarObserver;
	/** Default: the clock of the process. */
	readonly clock?: Clock;
	/** Runs a callback once every socket was looked at again. For simulations; default: `setImmediate`. */
	readonly defer?: (callback: () => void) => void;
	/** Uniform numbers in [0, 1), for jitter and picks. Default `Math.random`. */
	readonly random?: Random;
	/** Names this process; differs for every one. Default: a random UUID. */
	readonly instance?: string;
}
