/** The properties of a view. */
import type { Model } from '../model.ts';

export interface ViewProps {
  readonly model: Model;
  /** Lines between the tabs and the message. */
  readonly height: number;
}
