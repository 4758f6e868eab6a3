import { writeSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Writable } from 'node:stream';

import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino';
import { prettyFactory } from 'pino-pretty';

import { printable, printableLines } from '../output/output.ts';

/** Members that must never be written, wherever they stand. */
const SECRETS = ['token', '*.token', 'consulToken', '*.consulToken', 'headers["x-consul-token"]'];

/** The log of the process, on stdout, and what is known of its lines. */
export interface SidecarLog {
	readonly log: Logger;
	/** Lines that could not be written, since the start. */
	dropped(): number;
}

/** Makes the log of the process: JSON, or lines for people. */
export function createLogger(level: string, format: 'pretty' | 'json'): SidecarLog {
	const output = new LogOutput({ back: (dropped) => log.warn({ dropped }, 'log lines dropped') });
	const log = pino(
		{
			level,
			base: { pid: process.pid },
			timestamp: () => `,"time":"${new Date().toISOString()}"`,
			formatters: { level: (label) => ({ level: label }) },
			redact: { paths: SECRETS, censor: '(hidden)' },
			serializers: { err: stdSerializers.err },
		},
		format === 'pretty' ? forPeople(output) : output,
	);
	return { log, dropped: () => output.dropped };
}

/** The formatter alone: the stream that pino-pretty makes around it stops for good at the first error of its output. */
function forPeople(output: DestinationStream): DestinationStream {
	const pretty = prettyFactory({ ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss.l', singleLine: true });
	// Names of the registry stand in messages, too.
	const shown = (name: string, value: unknown): unknown =>
		typeof value !== 'string' ? value : name === 'stack' ? printableLines(value) : printable(value);
	return { write: (line) => output.write(pretty(JSON.parse(line, shown))) };
}

/** Most text that waits for a reader of the log that stalls. Later lines are dropped, and counted. */
export const DEFAULT_UNREAD_BYTES_MAX = 262_144;

/** How long the last lines may take to be read before the process ends without them. */
const LAST_LINES_MS = 1000;

/** What a {@link LogOutput} needs. */
export interface LogOutputOptions {
	/** Default: stdout. */
	readonly stream?: Writable;
	/** Default {@link DEFAULT_UNREAD_BYTES_MAX}. */
	readonly unreadBytesMax?: number;
	/** The log can be written again, and lacks so many lines. Default: no line says so. */
	readonly back?: (dropped: number) => void;
	/** Called once when the log cannot be written. Default: writes to stderr. */
	readonly failed?: (error: Error) => void;
}

/**
 * Where the lines of the log go. A reader that stalls or has gone, or a disk that is full, never holds up the sidecar that a
 * whole pod asks: lines are dropped. What can be written is written within the call, so that the last line before a crash is
 * there: to a file by its very call, to a pipe, a socket or a terminal by libuv, which queues only what the kernel does not take.
 */
export class LogOutput {
	/** Lines that were dropped since the start. */
	dropped = 0;
	readonly #stream: Writable;
	readonly #isFile: boolean;
	readonly #unreadBytesMax: number;
	readonly #back: (dropped: number) => void;
	readonly #failed: (error: Error) => void;
	#hasFailed = false;
	/** How many of the dropped lines were reported in the log. */
	#told = 0;

	constructor(options: LogOutputOptions = {}) {
		const { stream = process.stdout, unreadBytesMax = DEFAULT_UNREAD_BYTES_MAX } = options;
		this.#stream = stream;
		this.#unreadBytesMax = unreadBytesMax;
		this.#back = options.back ?? (() => undefined);
		this.#failed = options.failed ?? tellStderr;
		// Node's own stream over a file ends for good with its first error; the disk may have room again later.
		this.#isFile = stream === process.stdout && !(stream instanceof Socket);
		if (stream === process.stdout) neverWait(stream);
		stream.on('error', (error: Error) => this.#fail(error));
		stream.on('drain', () => this.#tellDropped());
	}

	write(line: string): void {
		if (this.#isFile) this.#writeFile(line);
		else if (this.#stream.writableLength + line.length > this.#unreadBytesMax) this.dropped++;
		else {
			this.#stream.write(line, (error) => {
				if (error) this.dropped++;
			});
		}
	}

	#writeFile(line: string): void {
		try {
			writeSync(1, line);
		} catch (error) {
			this.dropped++;
			this.#fail(error as Error);
			return;
		}
		this.#tellDropped();
	}

	#tellDropped(): void {
		const count = this.dropped - this.#told;
		if (count === 0) return;
		this.#told = this.dropped;
		this.#back(count);
	}

	#fail(error: Error): void {
		if (this.#hasFailed) return;
		this.#hasFailed = true;
		this.#failed(error);
	}
}

/** Lets the process end although its last lines are not read: waiting lines would keep it alive. */
export function endWithoutReader(): void {
	const end = (): void => {
		if (process.stdout.writableLength > 0 || process.stderr.writableLength > 0) process.exit();
	};
	setTimeout(end, LAST_LINES_MS).unref();
}

/** Pipes and sockets are asked not to block by libuv; terminals are made to block by Node, and Ctrl-S would stop the process. */
function neverWait(stream: Writable): void {
	const { _handle: handle } = stream as { readonly _handle?: { setBlocking?(isBlocking: boolean): unknown } | null };
	handle?.setBlocking?.(false);
}

function tellStderr({ message }: Error): void {
	process.stderr.write(`sidecar: the log cannot be written, and the sidecar goes on without it: ${message}\n`);
}
