import { connect, type Diplomat } from '@spock/client';
import { type ServiceQuery, type ServiceSnapshot, SpockError } from '@spock/protocol';

import { print, type Truth } from './consul-direct.ts';
import type { ToldAge } from './old-views.ts';

/** The ways in which a client knows a service. Each client has one of them for each service. */
const KINDS = ['watch', 'local', 'watch a tag', 'fresh', 'watch metadata', 'pick', 'local tag', 'fresh pick'] as const;
type Kind = (typeof KINDS)[number];

/** How a view stands to the truth. */
export type Standing =
	| { readonly is: 'agreed'; readonly sinceMs: number | undefined }
	/** The service has no instances, and the last ones are still handed out, marked: docs/guide/consul.md says for how long. */
	| { readonly is: 'held' }
	| {
			readonly is: 'diverged';
			readonly found: string;
			readonly isHeld?: boolean;
			/** Undefined where the view says nothing of its age. */
			readonly told?: ToldAge;
	  };

/** A planted fault: what a view is given in place of a snapshot. */
export type Spoil = (snapshot: ServiceSnapshot) => ServiceSnapshot;

/** One client's view of one question. */
export interface View {
	readonly name: string;
	readonly query: ServiceQuery;
	compare(truth: Truth, whole: Truth): Promise<Standing>;
}

/** Clients with a real connection each, half of them at each sidecar. */
export class ViewFleet implements AsyncDisposable {
	readonly views: readonly View[];
	readonly #clients: readonly Diplomat[];

	private constructor(clients: readonly Diplomat[], views: readonly View[]) {
		this.#clients = clients;
		this.views = views;
	}

	/**
	 * `questionsOf`: a service by itself, with a tag, with metadata. `spoil`: what goes wrong on purpose with each snapshot on its way
	 * to a view.
	 */
	static async start(
		paths: readonly string[],
		count: number,
		services: readonly string[],
		questionsOf: (service: string) => readonly ServiceQuery[],
		spoil: Spoil = (snapshot) => snapshot,
	): Promise<ViewFleet> {
		const path = (at: number): string => paths[at % paths.length] as string;
		const clients = await Promise.all(
			Array.from({ length: count }, (_, at) => connect({ path: path(at), subscriptionsMax: 100_000 })),
		);
		const views = clients.flatMap((diplomat, client) =>
			services.map((service, at) => {
				const kind = KINDS[(client * 3 + at) % KINDS.length] as Kind;
				const [plain, tagged, conditioned] = questionsOf(service) as [ServiceQuery, ServiceQuery, ServiceQuery];
				const query = kind.endsWith('tag') ? tagged : kind === 'watch metadata' ? conditioned : plain;
				return makeView(diplomat, `client ${client}, ${kind} of ${JSON.stringify(query)}`, kind, query, spoil);
			}),
		);
		return new ViewFleet(clients, views);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await Promise.all(this.#clients.map((client) => client.close()));
	}
}

function makeView(diplomat: Diplomat, name: string, kind: Kind, query: ServiceQuery, spoil: Spoil): View {
	if (kind.startsWith('watch')) return new WatchedView(diplomat, name, query, spoil);
	const isFresh = kind.startsWith('fresh');
	if (kind.endsWith('pick')) return { name, query, compare: (truth) => comparePick(diplomat, query, isFresh, truth) };
	const compare = async (truth: Truth, whole: Truth): Promise<Standing> => {
		const snapshot = await diplomat.getInstances(query, isFresh ? { fresh: true } : {});
		return compareSnapshot(spoil(snapshot), truth, whole, undefined);
	};
	return { name, query, compare: (truth, whole) => compare(truth, whole).catch(failed) };
}

/** A loop over the changes of one question, as an app has it. */
class WatchedView implements View {
	readonly name: string;
	readonly query: ServiceQuery;
	#last: ServiceSnapshot | undefined;
	#text = '';
	#sinceMs = 0;
	#error: unknown;

	constructor(diplomat: Diplomat, name: string, query: ServiceQuery, spoil: Spoil) {
		this.name = name;
		this.query = query;
		void this.#run(diplomat, spoil);
	}

	compare(truth: Truth, whole: Truth): Promise<Standing> {
		const last = this.#last;
		if (last === undefined || this.#error !== undefined) {
			return Promise.resolve({ is: 'diverged', found: `no snapshot: ${String(this.#error)}` });
		}
		return Promise.resolve(compareSnapshot(last, truth, whole, this.#sinceMs));
	}

	async #run(diplomat: Diplomat, spoil: Spoil): Promise<void> {
		try {
			for await (const snapshot of diplomat.watchService(this.query)) {
				const text = print(snapshot.instances);
				if (text !== this.#text) this.#sinceMs = performance.now();
				this.#text = text;
				this.#last = spoil(snapshot);
			}
		} catch (error) {
			this.#error = error;
		}
	}
}

function compareSnapshot(snapshot: ServiceSnapshot, truth: Truth, whole: Truth, sinceMs: number | undefined): Standing {
	const text = print(snapshot.instances);
	// Without a fault nothing may be old: an answer that is right and says that it is stale is wrong as well.
	if (text === truth.text && snapshot.source === 'live' && snapshot.held !== true) return { is: 'agreed', sinceMs };
	// A question with a condition is held back only where nothing is left of the service at all.
	if (snapshot.held === true && whole.text === '') return { is: 'held' };
	const { source, ageMs, verifiedAt, held = false } = snapshot;
	const told = { isRight: text === truth.text, isLive: source === 'live', ageMs, verifiedAt };
	return {
		is: 'diverged',
		isHeld: held,
		told,
		found: `${source}, held ${held}, age ${Math.round(ageMs)} ms:\n${text}`,
	};
}

async function comparePick(diplomat: Diplomat, query: ServiceQuery, fresh: boolean, truth: Truth): Promise<Standing> {
	try {
		const { instance, stale } = await diplomat.getService(query, fresh ? { fresh } : {});
		if (truth.serving.has(instance) && stale !== true) return { is: 'agreed', sinceMs: undefined };
		if (stale === true && truth.text === '') return { is: 'held' };
		return { is: 'diverged', found: `picked ${instance}${stale ? ', stale' : ''}` };
	} catch (error) {
		const wanted = truth.text === '' ? 'NO_SUCH_SERVICE' : 'NO_HEALTHY_INSTANCE';
		if (truth.serving.size === 0 && SpockError.is(error, wanted)) return { is: 'agreed', sinceMs: undefined };
		// The last instances of a service that has vanished may have been ill.
		if (truth.text === '' && SpockError.is(error, 'NO_HEALTHY_INSTANCE')) return { is: 'held' };
		return failed(error);
	}
}

function failed(error: unknown): Standing {
	return { is: 'diverged', found: `failed: ${String(error)}` };
}
