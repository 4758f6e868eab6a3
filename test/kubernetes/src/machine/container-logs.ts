import { closeSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';

const LOGS = '/var/log/pods';
const POLL_MS = 20;
const CHUNK_BYTES = 65_536;

/** A line that a container has printed. */
export interface ContainerLine {
	readonly pod: string;
	readonly container: string;
	readonly text: string;
}

interface Followed {
	readonly fd: number;
	readonly pod: string;
	readonly container: string;
	rest: string;
}

/**
 * Follows what all containers print, from the files that the kubelet has them written to. They are held open, so that the
 * last lines of a pod that has been taken away are read too.
 */
export class ContainerLogs implements Disposable {
	readonly #files = new Map<string, Followed>();
	readonly #onLine: (line: ContainerLine) => void;
	readonly #timer: NodeJS.Timeout;
	readonly #chunk = Buffer.alloc(CHUNK_BYTES);

	constructor(onLine: (line: ContainerLine) => void) {
		this.#onLine = onLine;
		this.#timer = setInterval(() => this.#look(), POLL_MS);
	}

	[Symbol.dispose](): void {
		clearInterval(this.#timer);
		for (const { fd } of this.#files.values()) closeSync(fd);
		this.#files.clear();
	}

	#look(): void {
		this.#findNew();
		for (const file of this.#files.values()) this.#read(file);
	}

	/** `<namespace>_<pod>_<uid>/<container>/<restarts>.log` */
	#findNew(): void {
		for (const directory of list(LOGS)) {
			const [, pod = ''] = directory.split('_');
			for (const container of list(join(LOGS, directory))) {
				for (const name of list(join(LOGS, directory, container))) {
					const path = join(LOGS, directory, container, name);
					if (!this.#files.has(path)) this.#files.set(path, { fd: openSync(path, 'r'), pod, container, rest: '' });
				}
			}
		}
	}

	#read(file: Followed): void {
		for (;;) {
			const size = readSync(file.fd, this.#chunk, 0, CHUNK_BYTES, null);
			if (size === 0) return;
			const lines = (file.rest + this.#chunk.toString('latin1', 0, size)).split('\n');
			file.rest = lines.pop() ?? '';
			for (const line of lines) {
				const text = messageOf(line);
				if (text !== undefined) this.#onLine({ pod: file.pod, container: file.container, text });
			}
		}
	}
}

/** Of a line as the runtime writes it: `<time> stdout F <message>`; undefined for the part of one that is longer than any here. */
export function messageOf(line: string): string | undefined {
	const found = /^\S+ (?:stdout|stderr) F (.*)$/.exec(line);
	return found?.[1] === undefined ? undefined : Buffer.from(found[1], 'latin1').toString();
}

function list(directory: string): string[] {
	try {
		return readdirSync(directory);
	} catch (error) {
		// Not there yet, or taken away in between: there is nothing to follow.
		if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
		throw error;
	}
}
