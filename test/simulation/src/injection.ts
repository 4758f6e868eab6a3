import type { Diplomat, DiplomatOptions } from '@spock/client';
import type { Registrar } from '@spock/discovery';
import type { EventServiceBugs, Files } from '@spock/events';
import type { SpockError } from '@spock/protocol';
import type { Clock, Random } from '@spock/protocol/internal';

import type { ItemVersion, RegistryItem } from './registry-item.ts';
import type { ServerLink } from './servers/server-link.ts';
import type { Invariant } from './violation.ts';

/** Gives the lines that go on in place of one line, without their ends. */
export type LineFault = (line: string) => readonly string[];

/**
 * What the surroundings of the product do wrong on purpose. Each member stands at one boundary of the product; without it, that
 * boundary does what it should.
 */
export interface Injection {
	/** Makes the fault of one connection: lines of a sidecar change before anything else sees them, as if it had written them so. */
	readonly sidecarWrites?: () => LineFault;
	/** The same for lines that a sidecar reads, after the wire was checked. */
	readonly sidecarReads?: () => LineFault;
	/** The same for lines that a client reads, after the wire was checked. */
	readonly clientReads?: () => LineFault;
	/** A sidecar never learns that a client has closed its connection. */
	readonly losesEnds?: boolean;
	/** Replaces the clock of each app. */
	readonly appClock?: (clock: Clock) => Clock;
	/** Replaces the clock of each sidecar. */
	readonly sidecarClock?: (clock: Clock) => Clock;
	/** Replaces the random numbers of each client. */
	readonly random?: (random: Random) => Random;
	/** SIGTERM does not reach a sidecar. */
	readonly losesSigterm?: boolean;
	/** The state that the registry answers with; it should be the current one. */
	readonly answers?: <V>(item: RegistryItem<V>) => ItemVersion<V>;
	/** The error that a query or a write ends with, in place of this one. */
	readonly error?: (error: SpockError) => SpockError;
	/** The index that the registry is asked with, in place of `index`; `before` is the one that it answered last. */
	readonly asks?: (index: number, before: number) => number;
	/** The registry takes no notice of tags and metadata in a query. */
	readonly ignoresConditions?: boolean;
	/** The registry puts an instance of no service into every answer. */
	readonly hasStranger?: boolean;
	/** Replaces the part of the registry that writes. `now`: virtual milliseconds. */
	readonly registrar?: (registrar: Registrar, now: () => number) => Registrar;
	/** What sidecars are given as the hold of empty answers, in milliseconds, whatever the world believes. */
	readonly emptyHoldMs?: number;
	/** Options that clients are given, whatever the world believes. */
	readonly clientOptions?: DiplomatOptions;
	/** Stands between an app and its client. */
	readonly diplomat?: (diplomat: Diplomat, clock: Clock) => Diplomat;
	/** Whether a world has events; `'only'`: and no other apps and sidecars, which cost most of its time. Default: by chance. */
	readonly hasEvents?: boolean | 'only';
	/** Whether a world has pods that ask a shared sidecar; `'only'`: and no other apps and sidecars. Default: by chance. */
	readonly hasPods?: boolean | 'only';
	/** Whether a world has pods that register at three servers; `'only'`: and nothing else. Default: by chance. */
	readonly hasServers?: boolean | 'only';
	/** Replaces the servers as a sidecar reaches them. */
	readonly servers?: (link: ServerLink) => ServerLink;
	/** Whether machines of a world stand still. Default: by chance. */
	readonly hasStandstills?: boolean;
	/** Bugs within the events of a sidecar. */
	readonly eventBugs?: EventServiceBugs;
	/** Replaces the disk of a log of events. */
	readonly eventFiles?: (files: Files) => Files;
	/** Writes of a log need a sync, as elsewhere than on Linux. Default: by chance. */
	readonly eventSyncs?: boolean;
	/** Called when a run begins; gives what ends the fault. */
	readonly begin?: () => () => void;
}

/** A fault that is injected into the world of the simulation: it breaks a promise, so that the check of that is seen to fail. */
export interface Plant {
	readonly name: string;
	/** What it breaks. */
	readonly invariant: Invariant;
	/** A seed that finds it, soon. */
	readonly seed: number;
	readonly injection: Injection;
}
