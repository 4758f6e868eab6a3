import type { Clock } from '@spock/protocol/internal';

import type { RegistrationCatalogue } from '../../foundation/registration-place.ts';
import type { Placed } from './placed-instance.ts';

/** A machine gets another address seldom, and then its agent is started again. */
const GOOD_MS = 60_000;
/** An address that is not known yet is asked for again by the next renewal. */
const UNKNOWN_MS = 1000;

interface NodeHost {
	readonly node: string;
	/** Undefined until the registry has returned it. */
	host: string | undefined;
	readonly askedAtMs: number;
	/** Resolves with the answer, and also without one. */
	asked: Promise<void>;
}

/** The address of the node of each place, which an instance without a host has: it must be known before that node is lost. */
export class NodeHosts {
	readonly #catalogue: RegistrationCatalogue;
	readonly #clock: Clock;
	/** One for each place. */
	readonly #byPlace = new Map<number, NodeHost>();

	constructor(catalogue: RegistrationCatalogue, clock: Clock) {
		this.#catalogue = catalogue;
		this.#clock = clock;
	}

	/** That of the node where it is registered; undefined where it is not known. */
	of({ place, node }: Placed): string | undefined {
		const known = this.#byPlace.get(place);
		return known !== undefined && known.node === node ? known.host : undefined;
	}

	/** Asks for it where an instance has it, and it is not known, or was asked long ago. Resolves also where it stays unknown. */
	async learn({ place, node, at, host: kept }: Placed): Promise<void> {
		if (node === null || (at.host ?? kept) !== undefined) return;
		const known = this.#byPlace.get(place);
		const nowMs = this.#clock.now();
		const isSame = known?.node === node;
		if (isSame && nowMs - known.askedAtMs < (known.host === undefined ? UNKNOWN_MS : GOOD_MS)) return known.asked;
		const asked: NodeHost = {
			node,
			host: isSame ? known.host : undefined,
			askedAtMs: nowMs,
			asked: Promise.resolve(),
		};
		asked.asked = this.#catalogue.nodeHost(node, place).then(
			(host) => {
				asked.host = host ?? asked.host;
			},
			// The registration itself is good: the next renewal asks again.
			() => undefined,
		);
		this.#byPlace.set(place, asked);
		await asked.asked;
	}
}
