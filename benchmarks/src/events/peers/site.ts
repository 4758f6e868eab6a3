import type { ServerProcess } from '../../processes.ts';
import type { KillTarget } from './peers-results.ts';

/** The servers of a peer. */
export interface Site {
	readonly address: string;
	/** Kills one of them and starts it again. */
	kill(target: Exclude<KillTarget, 'app'>): Promise<void>;
	/** The numbers of all events that are in the store, one for each time. No app may be sending. */
	read(): Promise<readonly number[]>;
	close(): Promise<void>;
}

/** Of an event of the kill loop, in a text of JSON by itself, or within another one. */
const NUMBER = /"n\\?":(\d+)/;

/** Those of the kill loop; what else was sent has none. */
export function numbersIn(texts: readonly string[]): number[] {
	return texts.flatMap((text) => {
		const found = NUMBER.exec(text)?.[1];
		return found === undefined ? [] : [Number(found)];
	});
}

/** By SIGKILL; resolves when it is gone. */
export async function killServer(server: ServerProcess): Promise<void> {
	process.kill(server.pid, 'SIGKILL');
	await server.close();
}
