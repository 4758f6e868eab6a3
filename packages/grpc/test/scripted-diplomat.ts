import type { ServiceSnapshot } from '@spock/client';

type Push = (what: ServiceSnapshot | Error) => void;

interface Deferred<T> {
	readonly promise: Promise<T>;
	resolve(value: T): void;
	reject(error: Error): void;
}

function deferred<T>(): Deferred<T> {
	let settle: Omit<Deferred<T>, 'promise'> | undefined;
	const promise = new Promise<T>((resolve, reject) => {
		settle = { resolve, reject };
	});
	return { promise, ...(settle as Omit<Deferred<T>, 'promise'>) };
}

/** A Diplomat of which only what a resolver uses is there: the test pushes snapshots into its watches. */
export interface ScriptedDiplomat {
	/** Watches that were begun. */
	opened: number;
	ejected: readonly { service: string; instance: string; host: string; port: number; leftMs: number }[];
	ejectedPercentMax: number;
	/** What `getService` answers with. */
	readonly questions: Deferred<never>;
	readonly watches: Set<Push>;
	push(what: ServiceSnapshot | Error): void;
}

export function scriptedDiplomat(): ScriptedDiplomat {
	const watches = new Set<Push>();
	const diplomat = {
		opened: 0,
		ejected: [] as ScriptedDiplomat['ejected'],
		ejectedPercentMax: 50,
		questions: deferred<never>(),
		watches,
		push: (what: ServiceSnapshot | Error) => {
			for (const watch of watches) watch(what);
		},
		status: () => ({ ejected: diplomat.ejected, ejectedPercentMax: diplomat.ejectedPercentMax }),
		getService: () => diplomat.questions.promise,
		async *watchService(_query: unknown, { signal }: { readonly signal: AbortSignal }) {
			diplomat.opened++;
			let arrived = deferred<ServiceSnapshot | Error | undefined>();
			const push: Push = (what) => arrived.resolve(what);
			signal.addEventListener('abort', () => arrived.resolve(undefined));
			watches.add(push);
			try {
				for (;;) {
					const what = await arrived.promise;
					arrived = deferred();
					if (what === undefined) return;
					if (what instanceof Error) throw what;
					yield what;
				}
			} finally {
				watches.delete(push);
			}
		},
	};
	return diplomat;
}
