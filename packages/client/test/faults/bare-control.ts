import { createConnection, type Socket } from 'node:net';

/** Between two attempts of a bare socket; far below what is measured with it. */
const RETRY_MS = 2;
const PING = '{"id":1,"func":"ping"}\n';

/**
 * The control of a measurement: a socket of this process with no client around it. It sees when the connection is gone, and
 * when somebody answers at the path again, as early as this process can see it at all.
 */
export class BareControl {
	/** When the last connection was gone, by `performance.now()`. */
	closedAtMs: number | undefined = undefined;
	/** When a ping was last answered. */
	answeredAtMs: number | undefined = undefined;
	readonly #path: string;
	#socket: Socket | undefined;
	#stopped = false;

	constructor(path: string) {
		this.#path = path;
		this.#connect();
	}

	/** Forgets what it has seen, and asks who is there: the next answer is `answeredAtMs`. */
	reset(): void {
		this.closedAtMs = undefined;
		this.answeredAtMs = undefined;
	}

	/** Asks for an answer on the connection that there is. */
	ping(): void {
		this.#socket?.write(PING);
	}

	stop(): void {
		this.#stopped = true;
		this.#socket?.destroy();
	}

	#connect(): void {
		const socket = createConnection(this.#path);
		this.#socket = socket;
		socket.on('connect', () => socket.write(PING));
		socket.on('data', () => {
			this.answeredAtMs ??= performance.now();
		});
		socket.on('error', () => undefined);
		socket.on('close', () => {
			// The first close is that of the fault; what follows are attempts that nobody takes.
			this.closedAtMs ??= performance.now();
			if (!this.#stopped) setTimeout(() => this.#connect(), RETRY_MS);
		});
	}
}
