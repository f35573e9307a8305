// What each kind of item in the transcript is: an element, a way to change it, and steps that draw what is pending.
import type { Item } from '../../../session/items.ts';

export interface ItemView {
  readonly element: HTMLElement;
  /** Takes the item's whole state. */
  put(item: Item): void;
  /** Takes text that came behind what there is. */
  grow?(text: string): void;
  /** Takes output of a command that came behind what there is. */
  output?(text: string): void;
  /** Draws one step; returns whether all is drawn. */
  draw(): boolean;
}
