import type { Socket } from 'node:net';

import type { Strangers } from '../../server/admission.ts';

/** What bounds a {@link tlsIntake}. */
export interface TlsIntakeLimit {
	/** Connections at once, but for strangers. */
	readonly connectionsMax: number;
	/** Of those, how many there may be. */
	readonly strangers: Pick<Strangers, 'countMax'>;
	/** One was over `connectionsMax`. */
	readonly refused: () => void;
}

/** Gives connections to a TLS server that listens nowhere. Node applies `maxConnections` only where it accepts by itself. */
export function tlsIntake(
	server: { emit(event: 'connection', socket: Socket): unknown },
	{ connectionsMax, strangers, refused }: TlsIntakeLimit,
): (socket: Socket) => void {
	const open = new Set<Socket>();
	return (socket) => {
		if (socket.destroyed) return;
		if (open.size >= connectionsMax + strangers.countMax) {
			socket.on('error', () => undefined);
			socket.destroy();
			refused();
			return;
		}
		// The TLS connection takes it from here: a client that ends its side within the handshake would be waited for in vain.
		socket.allowHalfOpen = false;
		open.add(socket);
		socket.once('close', () => open.delete(socket));
		server.emit('connection', socket);
	};
}
