import type { SupervisionStatus } from '@spock/protocol';
import type { SocketAddress } from '@spock/protocol/node';

/** Where to listen, as it is asked of the supervisor. The socket itself stays there. */
export interface ListenRequest {
	readonly address: SocketAddress;
	readonly socketMode?: number;
	readonly privateDirectory?: boolean;
	readonly flag?: string;
	readonly allowRemote?: boolean;
	readonly beside?: boolean;
	readonly backlog?: number;
}

/** What a worker may ask about listeners; `listener` is the number that `listen` was answered with. */
export type Question =
	| { readonly ask: 'listen'; readonly options: ListenRequest }
	| { readonly ask: 'publish'; readonly listener: number; readonly how: 'replace' | 'if free' }
	| { readonly ask: 'isReplaced' | 'restore' | 'close'; readonly listener: number };

/** The answer to `listen`. */
export interface Listening {
	readonly listener: number;
	readonly address: string;
	readonly hasPlace: boolean;
}

/** From the supervisor to a worker. `socket` comes with a socket. */
export type ToWorker =
	| { readonly type: 'activate'; readonly supervision: SupervisionStatus }
	| { readonly type: 'answer'; readonly id: number; readonly value: unknown }
	| { readonly type: 'refusal'; readonly id: number; readonly message: string; readonly code: string | null }
	| { readonly type: 'socket'; readonly listener: number }
	/** A signal that the supervisor has got. */
	| { readonly type: 'signal'; readonly signal: NodeJS.Signals }
	| { readonly type: 'ping' };

/** From a worker to its supervisor. */
export type ToSupervisor =
	| { readonly type: 'question'; readonly id: number; readonly question: Question }
	/** It has loaded, and waits to be activated. */
	| { readonly type: 'loaded' }
	/** It listens somewhere: sockets may come. */
	| { readonly type: 'accepting' }
	/** It listens everywhere, and serves. */
	| { readonly type: 'serving' }
	/** The last socket has arrived. */
	| { readonly type: 'taken' }
	/** Another sidecar stands at the path; the worker leaves when its clients have. */
	| { readonly type: 'replaced' }
	| { readonly type: 'pong' };
