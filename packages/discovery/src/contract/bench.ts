import type { Backend } from '../foundation/backend.ts';

/** An instance as a case wants it: passing, with nothing else said of it. */
export interface ContractInstance {
	readonly host: string;
	readonly port: number;
}

/** What a case needs: a backend of its own, and a hand on the registry behind it. */
export interface BackendFixture {
	readonly backend: Backend;
	/** Makes these the instances of a service, all passing; none takes the service out of the registry. */
	setService(service: string, instances: readonly ContractInstance[]): void | Promise<void>;
	/** Takes the registry out of reach, or brings it back. Needed with `canBeAway`. */
	setReachable?(isReachable: boolean): void | Promise<void>;
	/** Ends the backend, if the case has not, and the registry. */
	close(): void | Promise<void>;
}

/** What the backend is like. */
export interface BackendTraits {
	/** True if its registry may be out of reach; then a fixture has `setReachable`. Default true. */
	readonly canBeAway?: boolean;
	/** False if the registry cannot list its services. Default true. */
	readonly canList?: boolean;
	/** How long a case waits for what must happen, in milliseconds: well above what the backend may take. Default 20000. */
	readonly patienceMs?: number;
}

/** One promise of the contract, to be given to any test runner. */
export interface ContractCase {
	/** The promise, in words. */
	readonly name: string;
	/** Keeps it, or rejects with an AssertionError of node:assert, or an Error that says what was waited for in vain. */
	run(): Promise<void>;
}

/** A fixture, and how long to wait at it. */
export interface Bench extends BackendFixture {
	readonly patienceMs: number;
}

/** Cases by their names. */
export type Cases = Readonly<Record<string, (bench: Bench) => Promise<void>>>;
