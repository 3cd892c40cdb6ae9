"""Its modules move to the folders of their features."""
