/** What happens in one cell of a state table: the next state, and the actions to take, in order. */
export type Cell<State extends string, Action extends string> =
	| readonly [next: State, ...actions: Action[]]
	/** `null`: considered, and nothing happens. */
	| null;

/** A whole state machine as data: every state has a cell for every event, or it does not compile. */
export type MachineTable<State extends string, Event extends string, Action extends string> = {
	readonly [S in State]: { readonly [E in Event]: Cell<State, Action> };
};

/** The outcome of one event. */
export interface Step<State extends string, Action extends string> {
	readonly state: State;
	readonly actions: readonly Action[];
}

/** What an event does in a state. A `null` cell keeps the state and does nothing. */
export function step<State extends string, Event extends string, Action extends string>(
	table: MachineTable<State, Event, Action>,
	state: State,
	event: Event,
): Step<State, Action> {
	const cell = table[state][event];
	if (cell === null) return { state, actions: [] };
	return { state: cell[0], actions: cell.slice(1) as Action[] };
}

/** The table as Markdown, events down and states across: docs/ARCHITECTURE.md holds its output and CI compares. */
export function printMachine<State extends string, Event extends string, Action extends string>(
	table: MachineTable<State, Event, Action>,
): string {
	const states = Object.keys(table) as State[];
	const first = states[0];
	if (first === undefined) return '';
	const events = Object.keys(table[first]) as Event[];
	const rows = events.map((event) => {
		const cells = states.map((state) => {
			const cell = table[state][event];
			if (cell === null) return '·';
			const [next, ...actions] = cell;
			return actions.length === 0 ? next : `${next}: ${actions.join(', ')}`;
		});
		return `| ${event} | ${cells.join(' | ')} |`;
	});
	return [`| | ${states.join(' | ')} |`, `|---|${'---|'.repeat(states.length)}`, ...rows].join('\n');
}
