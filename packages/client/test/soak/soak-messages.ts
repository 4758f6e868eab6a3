import type { ProcessFigures } from './process-figures.ts';

/** What a process of a soak is started with. */
export interface SoakSettings {
	readonly path: string;
	/** The name of a leak to plant in it. */
	readonly leak: string | undefined;
}

export type SoakCommand =
	/** Client: makes so many cycles, and waits until nothing of them is under way. */
	| { readonly kind: 'cycles'; readonly count: number }
	/** Both: forces a collection and tells what is held. The sidecar first waits until only one client is left. */
	| { readonly kind: 'figures' };

export type SoakReply =
	| { readonly kind: 'ready' }
	/** How often each kind of cycle has been made so far, and each kind of end that a call has come to. */
	| {
			readonly kind: 'cycles';
			readonly made: Readonly<Record<string, number>>;
			readonly ends: Readonly<Record<string, number>>;
	  }
	| { readonly kind: 'figures'; readonly figures: ProcessFigures; readonly killed: number };
