/** What a lookup process is started with, as JSON in its only argument. */
export interface LookupSettings {
	/** The sidecar's socket. */
	readonly path: string;
	/** How many clients, each with a connection of its own. */
	readonly clients: number;
	/** Names of the services that each of them looks up. */
	readonly services: readonly string[];
}

/** What it is told. Each is answered by one {@link LookupReply}. */
export type LookupCommand =
	| { readonly kind: 'tally' }
	/** From now on `agreement` compares with this: what is registered, by service. */
	| { readonly kind: 'expect'; readonly expected: Readonly<Record<string, string>> }
	| { readonly kind: 'agreement' };

/** What it answers; `ready` comes by itself, when every client has looked up every service once. */
export type LookupReply =
	| { readonly kind: 'ready' }
	| { readonly kind: 'failed'; readonly why: string }
	| ({ readonly kind: 'tally' } & Tally)
	| ({ readonly kind: 'agreement' } & Agreement)
	| { readonly kind: 'expect' };

/** What happened to the lookups since the last tally. */
export interface Tally {
	readonly lookups: number;
	/** Lookups that rejected although the same client had been answered for the same service before. */
	readonly failed: number;
	/** Answers with an instance of another service. */
	readonly wrong: number;
	/** The greatest age that an answer admitted, in milliseconds. */
	readonly longestAgeMs: number;
	/** Some of the failures and wrong answers, for people. */
	readonly examples: readonly string[];
}

/** How what the clients have compares with what is expected. */
export interface Agreement {
	/** Pairs of a client and a service that differ. */
	readonly differing: number;
	/** Those of them that are called live. */
	readonly differingLive: number;
	/** One of them, for people. */
	readonly example: string | null;
	/** When the last of those that are equal became so, in milliseconds since 1970. */
	readonly sinceMs: number;
	/** Pairs that are equal but marked as last known. */
	readonly stale: number;
	/** Services whose lookups give other instances than the snapshot has; counted only when nothing differs. */
	readonly wrongPicks: number;
}

const EXAMPLES_MAX = 5;

/** Of several clients or processes together. */
export function addTallies(tallies: readonly Tally[]): Tally {
	return {
		lookups: sum(tallies.map(({ lookups }) => lookups)),
		failed: sum(tallies.map(({ failed }) => failed)),
		wrong: sum(tallies.map(({ wrong }) => wrong)),
		longestAgeMs: Math.max(0, ...tallies.map(({ longestAgeMs }) => longestAgeMs)),
		examples: tallies.flatMap(({ examples }) => examples).slice(0, EXAMPLES_MAX),
	};
}

/** Of several clients or processes together. */
export function addAgreements(agreements: readonly Agreement[]): Agreement {
	return {
		differing: sum(agreements.map(({ differing }) => differing)),
		differingLive: sum(agreements.map(({ differingLive }) => differingLive)),
		example: agreements.find(({ example }) => example !== null)?.example ?? null,
		sinceMs: Math.max(0, ...agreements.map(({ sinceMs }) => sinceMs)),
		stale: sum(agreements.map(({ stale }) => stale)),
		wrongPicks: sum(agreements.map(({ wrongPicks }) => wrongPicks)),
	};
}

function sum(values: readonly number[]): number {
	return values.reduce((total, value) => total + value, 0);
}
