"""Mutations: tables that break one requirement each."""
