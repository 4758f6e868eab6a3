import type { EventEmitter } from 'node:events';
import type { Duplex } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';

/**
 * What is used of pg's Connection. pg calls the `stream` option as a method of it, before anybody listens to it
 * (https://github.com/brianc/node-postgres/blob/master/packages/pg/lib/connection.js).
 */
export interface PgConnection extends EventEmitter {
	/** The stream that was made; in TLS, later, the one over it. */
	readonly stream: Duplex & { readonly bytesWritten: number };
	/** Says good-bye to the server, and closes. */
	end(): void;
}

/** What pg gives the `stream` option. The object is made for one connection, and read after the stream was made. */
export interface PgStreamConfig {
	ssl?: boolean | ConnectionOptions;
}

/** An error that the server sent, with its SQLSTATE in `code`. */
export interface PgErrorMessage {
	readonly code?: unknown;
}

/**
 * True for what a server says that cannot be used now, whoever asks: insufficient resources, too many connections, starting,
 * stopping (https://www.postgresql.org/docs/current/errcodes-appendix.html, classes 53 and 57P0x).
 */
export function isServerTrouble({ code }: PgErrorMessage): boolean {
	return typeof code === 'string' && (code.startsWith('53') || /^57P0[1-3]$/.test(code));
}
