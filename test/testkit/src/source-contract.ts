import type { ServiceSource } from '@spock/protocol';
import { describe } from 'vitest';

import { testAnswers } from './source-contract/answers.ts';
import { testEnd } from './source-contract/end.ts';
import { testOutages } from './source-contract/outages.ts';
import { testWatches } from './source-contract/watches.ts';

/** What the suite needs of whoever runs it: a source, and a hand on the registry behind it. */
export interface SourceFixture extends AsyncDisposable {
	readonly source: ServiceSource;
	/** Makes these `host:port` the passing instances of a service, all with these tags; none takes the service out. */
	setService(service: string, hosts: readonly string[], tags?: readonly string[]): void | Promise<void>;
	/** While true the registry gives no first answer (it is held, or refused). Needed unless the source is embedded. */
	holdAnswers?(isHeld: boolean): void | Promise<void>;
	/** While true the registry, or the sidecar, is out of reach. Needed unless the source is embedded. */
	cutOff?(isCut: boolean): void | Promise<void>;
	/** A datacenter that queries may name. Left out: none. */
	readonly datacenter?: string;
}

/** What a source is like. */
export interface SourceTraits {
	/** True if the registry is in this process, so that it always answers, and at once. Default false. */
	readonly isEmbedded?: boolean;
	/** False if the registry cannot list its services. Default true. */
	readonly canList?: boolean;
	/** False if queries may have no tags. Default true. */
	readonly hasTags?: boolean;
	/** False where no datacenter may be asked for. Default true. */
	readonly hasDatacenter?: boolean;
}

/** Makes a source and its registry anew. */
export type MakeFixture = () => Promise<SourceFixture>;

/** What every ServiceSource promises. Each test makes a fixture of its own. */
export function describeSourceContract(name: string, makeFixture: MakeFixture, traits: SourceTraits = {}): void {
	describe(`${name} keeps the contract of a ServiceSource`, () => {
		testAnswers(makeFixture, traits);
		testWatches(makeFixture);
		testOutages(makeFixture, traits);
		testEnd(makeFixture, traits);
	});
}
