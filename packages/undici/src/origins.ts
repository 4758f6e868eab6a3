import type { ServiceQuery } from '@spock/client';
import { NameRule, type NameRuleOptions } from '@spock/client/integrations';

/** Where a request is meant to go, if that is a service. */
export interface Origin {
	/** `http:` or `https:`. */
	readonly protocol: string;
	/** The host as the URL has it, with its port if it has one. */
	readonly host: string;
	readonly query: ServiceQuery;
}

/** Origins that are remembered; they may come from outside. */
const KNOWN_MAX = 1024;

/** Which origins are services: the name rule, with its answers remembered, because every request asks. */
export class Origins {
	readonly #rule: NameRule;
	readonly #known = new Map<string, Origin | null>();

	/** Throws what the name rule throws for wrong options. */
	constructor(options: NameRuleOptions) {
		this.#rule = new NameRule(options);
	}

	/** Undefined: the origin is to be left alone. Throws BAD_REQUEST for a name that can be no service's. */
	find(origin: unknown): Origin | undefined {
		const text = typeof origin === 'string' ? origin : origin instanceof URL ? origin.origin : '';
		const known = this.#known.get(text);
		if (known !== undefined) return known ?? undefined;
		const found = this.#read(text);
		if (this.#known.size >= KNOWN_MAX) this.#known.clear();
		this.#known.set(text, found ?? null);
		return found;
	}

	#read(text: string): Origin | undefined {
		const url = urlOf(text);
		if (url === undefined) return undefined;
		const { protocol, host, hostname } = url;
		if (protocol !== 'http:' && protocol !== 'https:') return undefined;
		const query = this.#rule.query(hostname);
		return query === undefined ? undefined : { protocol, host, query };
	}
}

/** What is no URL is left to undici, which has an error for it. Not by `URL.canParse`, which errs about `\u00fc` on Node 20 and 22. */
function urlOf(text: string): URL | undefined {
	try {
		return new URL(text);
	} catch {
		return undefined;
	}
}
