/** What is shown in the lower part of the screen. */
export type TopTab = 'services' | 'connections' | 'changes';

export const TOP_TABS: readonly TopTab[] = ['services', 'connections', 'changes'];

/** The orders of each tab, the first one its default. */
export const TOP_ORDERS: Readonly<Record<TopTab, readonly string[]>> = {
	services: ['health', 'name', 'changed', 'readers'],
	connections: ['requests', 'number', 'subscriptions', 'unread'],
	changes: ['newest', 'oldest'],
};

/** What the person in front of it has chosen. Immutable: each key gives another one. */
export interface TopState {
	readonly tab: TopTab;
	/** Rows from the first one. */
	readonly selected: number;
	readonly filter: string;
	/** True while keys are letters of the filter. */
	readonly isTyping: boolean;
	/** True while the keys are explained in place of the rows. */
	readonly isHelp: boolean;
	/** Index into the orders, for each tab. */
	readonly orders: Readonly<Record<TopTab, number>>;
	/** Key of the service whose instances are shown; undefined for the tab itself. */
	readonly detail: string | undefined;
}

export const FIRST_STATE: TopState = {
	tab: 'services',
	selected: 0,
	filter: '',
	isTyping: false,
	isHelp: false,
	orders: { services: 0, connections: 0, changes: 0 },
	detail: undefined,
};

/** What is on the screen when a key is pressed. */
export interface Shown {
	readonly rows: number;
	/** Rows that fit on the screen. */
	readonly page: number;
	/** Key of the service in the selected row, if it is one. */
	readonly key: string | undefined;
}

const MOVES: Readonly<Record<string, (shown: Shown) => number>> = {
	'\u001b[A': () => -1,
	'\u001bOA': () => -1,
	k: () => -1,
	'\u001b[B': () => 1,
	'\u001bOB': () => 1,
	j: () => 1,
	'\u001b[5~': ({ page }) => -page,
	'\u001b[6~': ({ page }) => page,
	' ': ({ page }) => page,
	'\u001b[H': ({ rows }) => -rows,
	g: ({ rows }) => -rows,
	'\u001b[F': ({ rows }) => rows,
	G: ({ rows }) => rows,
};

const FILTER_LENGTH_MAX = 64;

/** What a key makes of the state; undefined for the end. */
export function press(state: TopState, key: string, shown: Shown): TopState | undefined {
	// Ctrl-C, always.
	if (key === '\u0003') return undefined;
	if (state.isHelp) return { ...state, isHelp: false };
	if (state.isTyping) return type(state, key);
	const selected = Math.max(0, Math.min(state.selected, shown.rows - 1));
	const move = MOVES[key];
	if (move !== undefined) {
		return { ...state, selected: Math.max(0, Math.min(shown.rows - 1, selected + move(shown))) };
	}
	switch (key) {
		case 'q':
			return undefined;
		case '\t':
			return onTab(state, 1);
		case '\u001b[Z':
			return onTab(state, -1);
		case '?':
			return { ...state, isHelp: true };
		case '/':
			return { ...state, isTyping: true };
		case 's': {
			const next = (state.orders[state.tab] + 1) % TOP_ORDERS[state.tab].length;
			return { ...state, orders: { ...state.orders, [state.tab]: next }, selected: 0 };
		}
		case '\r':
			return shown.key === undefined ? state : { ...state, detail: shown.key, selected: 0, filter: '' };
		case '\u001b':
			if (state.filter !== '') return { ...state, filter: '', selected: 0 };
			return { ...state, detail: undefined, selected: 0 };
		default:
			return state;
	}
}

function onTab(state: TopState, step: 1 | -1): TopState {
	const index = (TOP_TABS.indexOf(state.tab) + step + TOP_TABS.length) % TOP_TABS.length;
	return { ...state, tab: TOP_TABS[index] as TopTab, selected: 0, detail: undefined };
}

function type(state: TopState, key: string): TopState {
	if (key === '\r') return { ...state, isTyping: false };
	if (key === '\u001b') return { ...state, isTyping: false, filter: '', selected: 0 };
	if (key === '\u007f' || key === '\b') return { ...state, filter: state.filter.slice(0, -1), selected: 0 };
	// Arrows and the like begin with an escape, and are no letters.
	if (key < ' ' || key.length > 2 || state.filter.length >= FILTER_LENGTH_MAX) return state;
	return { ...state, filter: state.filter + key, selected: 0 };
}

/** The keys in what a terminal sends at once: escape sequences, and letters one by one. */
export function keysIn(input: string): string[] {
	return input.match(/\u001b\[[0-9;]*[A-Za-z~]|\u001bO[A-Z]|[\s\S]/gu) ?? [];
}
